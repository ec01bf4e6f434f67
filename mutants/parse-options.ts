import { parseArgs } from 'node:util'
import { AREAS } from './catalog/index.ts'

export const USAGE = `Usage: npm run mutants -- [options]
Breaks one rule in the source at a time and runs the tests that protect it. A mutant that survives shows a missing test.
  --area <name>      run one area: ${AREAS.map(({ name }) => name).join(', ')}
  --only <text>      run the mutants whose name contains the text
  --list             print the mutants and run nothing
  --help             print this help
Exit codes: 0 every mutant is killed or equivalent, 1 a mutant survives or does not apply, 2 invalid arguments.`

export type Options = { area: string | undefined; only: string; isList: boolean }

/**
 * Parses the command line; returns undefined if help was requested.
 * @throws Error that names the invalid argument
 */
export function parseOptions(args: string[]): Options | undefined {
  const { values } = parseArgs({
    args,
    options: {
      area: { type: 'string' },
      only: { type: 'string', default: '' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return undefined
  const { area, only, list: isList } = values
  if (area !== undefined && !AREAS.some(({ name }) => name === area)) throw new Error(`There is no area "${area}"`)
  return { area, only, isList }
}
