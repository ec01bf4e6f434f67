import { type Compilation, compileDefinition } from '../../engine/compile/compile-definition.ts'
import { type Problem, problemAt } from '../../engine/language/definition/problems.ts'
import { findLiteralSecrets } from '../workflows/literal-secrets.ts'
import { findUnsupported, type Unsupported } from './find-unsupported.ts'
import { workflowLanguage, workflowLanguageWithLoopback } from '../../workflow-language.ts'
import { type DefinitionPart, listSteps, listTriggers, toRootPart } from '../workflows/stored-definition.ts'

/** Property that JavaScript objects lose when they are copied. */
const REMOVED_NAME = '__proto__'
/** Fields that are visited as parts of their own, or not at all. */
const SKIPPED_FIELDS: ReadonlySet<string> = new Set(['steps', 'triggers', 'ui'])

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

/** Finds names in a definition that would silently be lost. */
function findRemovedNames(definition: unknown): Problem[] {
  const parts = [toRootPart(definition), ...listTriggers(definition), ...listSteps(definition)]
  return parts.flatMap((part) => listPaths(part).map((path) => toProblem(part, path)))
}

function listPaths({ fields }: DefinitionPart): string[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    SKIPPED_FIELDS.has(name) ? [] : listNestedPaths(value, name),
  )
}

function listNestedPaths(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, child]) =>
    name === REMOVED_NAME ? [`${path}.${name}`] : listNestedPaths(child, `${path}.${name}`),
  )
}

function toProblem({ location }: DefinitionPart, path: string): Problem {
  return problemAt(location, path, 'unknown_field', 'is not a name that can be used here')
}
