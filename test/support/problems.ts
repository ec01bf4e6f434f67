import { compileDefinition } from '../../src/engine/compile/compile-definition.ts'
import { workflowLanguage } from '../../src/workflow-language.ts'
import { say } from './steps.ts'

/** Lists `code path` of each error or warning of a definition; omitted parts are filled in with valid ones. */
export function listProblems(definition: object, kind: 'errors' | 'warnings' = 'errors'): string[] {
  const whole = { version: 1, triggers: [{ type: 'api' }], steps: [say('a')], ...definition }
  return compileDefinition(whole, workflowLanguage)[kind].map(({ code, path }) => `${code} ${path}`)
}
