import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { type DefinitionPart, listSteps, listTriggers, toRootPart } from '../workflows/stored-definition.ts'

/** Property that JavaScript objects lose when they are copied. */
const REMOVED_NAME = '__proto__'
/** Fields that are visited as parts of their own, or not at all. */
const SKIPPED_FIELDS: ReadonlySet<string> = new Set(['steps', 'triggers', 'ui'])

/** Finds names in a definition that would silently be lost. */
export function findRemovedNames(definition: unknown): Problem[] {
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
