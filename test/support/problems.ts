import { compileDefinition } from '../../src/engine/compile/compile-definition.ts'
import { workflowLanguage } from '../../src/workflow-language.ts'
import { say } from './steps.ts'

/** `code path` of each thing that is wrong with a definition, or may surprise; what it leaves out is sound. */
export function problemsOf(definition: object, kind: 'errors' | 'warnings' = 'errors'): string[] {
  const whole = { version: 1, triggers: [{ type: 'api' }], steps: [say('a')], ...definition }
  return compileDefinition(whole, workflowLanguage)[kind].map(({ code, path }) => `${code} ${path}`)
}
