import { compileDefinition } from '../../src/engine/compile/compile-definition.ts'
import { stepTypes } from '../../src/steps/index.ts'
import { say } from './steps.ts'

/** `code path` of each thing that is wrong with a definition, or may surprise; what it leaves out is sound. */
export function problemsOf(definition: object, kind: 'errors' | 'warnings' = 'errors'): string[] {
  const whole = { version: 1, triggers: [{ type: 'api' }], steps: [say('a')], ...definition }
  return compileDefinition(whole, stepTypes)[kind].map(({ code, path }) => `${code} ${path}`)
}
