import { type Compilation, compileDefinition } from '../../engine/compile/compile-definition.ts'
import type { Problem } from '../../engine/language/definition/problems.ts'
import { findLiteralSecrets } from '../workflows/literal-secrets.ts'
import { findRemovedNames } from './find-removed-names.ts'
import { findUnsupported, type Unsupported } from './find-unsupported.ts'
import { workflowLanguage, workflowLanguageWithLoopback } from '../../workflow-language.ts'

/**
 * Compiles a definition, or lists its errors as far as they can be found without the workspace. Features of the language
 * that are not supported yet are reported as `not_supported`, instead of being ignored or reported as invalid.
 */
export function checkDefinition(definition: unknown, { allowsLoopback }: { allowsLoopback: boolean }): Compilation {
  const registry = allowsLoopback ? workflowLanguageWithLoopback : workflowLanguage
  const { compiled, errors, warnings } = compileDefinition(definition, registry)
  const unsupported = findUnsupported(definition)
  const additional = [...findRemovedNames(definition), ...findLiteralSecrets(definition)].filter(
    ({ path }) => !errors.some((error) => error.path === path),
  )
  if (unsupported.length + additional.length === 0) return { compiled, errors, warnings }
  const others = errors.filter((error) => !unsupported.some((one) => covers(one, error)))
  const unsupportedErrors = unsupported.map(({ stepId, path, code, message }) => ({ stepId, path, code, message }))
  return { compiled: null, errors: [...others, ...additional, ...unsupportedErrors], warnings }
}

function covers({ within }: Unsupported, { path }: Problem): boolean {
  return within.some((one) => path === one || path.startsWith(`${one}.`))
}
