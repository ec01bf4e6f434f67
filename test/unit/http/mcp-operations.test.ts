import { expect } from 'chai'
import { z } from 'zod'
import { isReading, listKeyOperations, REVEALING } from '../../../src/http/mcp/mcp-call.ts'
import { listOperations } from '../../../src/http/rest.ts'
import { isSensitiveName } from '../../../src/platform/security/sensitive-name.ts'
import { appRouter } from '../../../src/router.ts'

/** Fields that say whether there is a secret. */
const FLAGS = new Set(['hasApiKey'])

describe('operations that assistants may call', () => {
  it('have no field in their answers whose name is that of a secret; those that have one are left out', () => {
    const revealing = listOperations(appRouter).filter(({ meta, procedure, procedurePath }) => {
      const { output } = procedure._def
      if (!meta.scope || !(output instanceof z.ZodType)) return false
      const names = listNames(z.toJSONSchema(output, { unrepresentable: 'any' }))
      // The `key` of a workflow is its name for programs.
      const isSecretKey = !procedurePath.startsWith('workflows.')
      return names.some((name) => (name === 'key' && isSecretKey) || (isSensitiveName(name) && !FLAGS.has(name)))
    })
    expect(revealing.map(({ procedurePath }) => procedurePath)).to.have.members([...REVEALING])
  })

  it('change something unless they are queries or need a scope to read', () => {
    const computing = [...listKeyOperations(appRouter).values()].filter(
      (operation) => isReading(operation) && operation.procedure._def.type === 'mutation',
    )
    expect(computing.map(({ procedurePath }) => procedurePath)).to.have.members([
      'broadcasts.estimate',
      'broadcasts.preview',
      'templates.preview',
      'workflows.simulate',
      'workflows.testDefinition',
      'workflows.validate',
    ])
  })
})

/** Lists the names of all properties in a schema. */
function listNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([keyword, value]) => [
    ...(keyword === 'properties' ? Object.keys(Object(value)) : []),
    ...listNames(value),
  ])
}
