import { register } from 'tsx/esm/api'

register()
const { knexConfig } = await import('./src/knex-config.ts')

export default await knexConfig()
