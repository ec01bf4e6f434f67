import { type Compilation, compileDefinition } from '../../engine/compile/compile-definition.ts'
import type { Problem } from '../../engine/language/definition/problems.ts'
import { findRemovedNames } from './find-removed-names.ts'
import { findUnsupported, type Unsupported } from './not-supported.ts'
import { workflowLanguage, workflowLanguageWithLoopback } from '../../workflow-language.ts'

/**
 * A definition in the form that runs, or everything that keeps it from running, as far as the definition alone tells.
 * What is of the language and not supported is refused as that, never ignored and never called a mistake.
 */
export function checkDefinition(definition: unknown, { allowsLoopback }: { allowsLoopback: boolean }): Compilation {
  const registry = allowsLoopback ? workflowLanguageWithLoopback : workflowLanguage
  const { compiled, errors, warnings } = compileDefinition(definition, registry)
  const unsupported = findUnsupported(definition)
  const lost = findRemovedNames(definition).filter(({ path }) => !errors.some((error) => error.path === path))
  if (unsupported.length + lost.length === 0) return { compiled, errors, warnings }
  const others = errors.filter((error) => !unsupported.some((one) => explains(one, error)))
  const refused = unsupported.map(({ stepId, path, code, message }) => ({ stepId, path, code, message }))
  return { compiled: null, errors: [...others, ...lost, ...refused], warnings }
}

function explains({ within }: Unsupported, { path }: Problem): boolean {
  return within.some((one) => path === one || path.startsWith(`${one}.`))
}
