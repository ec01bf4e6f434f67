import { compileDefinition } from '../../src/engine/compile/compile-definition.ts'
import { stepTypes } from '../../src/steps/index.ts'
import { say } from './steps.ts'

/** Lists `code path` of each error or warning of a definition; omitted parts are filled in with valid ones. */
export function listProblems(definition: object, kind: 'errors' | 'warnings' = 'errors'): string[] {
  const whole = { version: 1, triggers: [{ type: 'api' }], steps: [say('a')], ...definition }
  return compileDefinition(whole, stepTypes)[kind].map(({ code, path }) => `${code} ${path}`)
}
