import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { type RawPart, listSteps, listTriggers, asDocument } from '../workflows/stored-definition.ts'

/** Objects of JavaScript lose what stands under this name when they are copied. */
const LOST = '__proto__'
/** What is looked at as a part of its own, or not at all. */
const APART: ReadonlySet<string> = new Set(['steps', 'triggers', 'ui'])

/** Names in a definition that would be lost without a word. */
export function findRemovedNames(definition: unknown): Problem[] {
  const parts = [asDocument(definition), ...listTriggers(definition), ...listSteps(definition)]
  return parts.flatMap((part) => pathsIn(part).map((path) => tell(part, path)))
}

function pathsIn({ fields }: RawPart): string[] {
  return Object.entries(fields).flatMap(([name, value]) => (APART.has(name) ? [] : pathsWithin(value, name)))
}

function pathsWithin(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, child]) =>
    name === LOST ? [`${path}.${name}`] : pathsWithin(child, `${path}.${name}`),
  )
}

function tell({ place }: RawPart, path: string): Problem {
  return problemAt(place, path, 'unknown_field', 'is not a name that can be used here')
}
