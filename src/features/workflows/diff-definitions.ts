import { isDeepStrictEqual } from 'node:util'
import { definitionHash } from '../../engine/compile/definition-hash.ts'
import { type RawPart, listSteps, listTriggers, asDocument } from './stored-definition.ts'
import type { DefinitionDiff, FieldChange } from './schema.ts'

type Fields = Readonly<Record<string, unknown>>

/** What differs between two definitions of any form. Steps are told apart by their ids, wherever they stand. */
export function diffDefinitions(from: Fields, to: Fields): DefinitionDiff {
  return {
    hasChanges: definitionHash(from) !== definitionHash(to),
    steps: diffSteps(listSteps(from), listSteps(to)),
    triggers: {
      added: missingFrom(listTriggers(from), listTriggers(to)),
      removed: missingFrom(listTriggers(to), listTriggers(from)),
    },
    settings: changesOf(partOf(from, 'settings'), partOf(to, 'settings')),
    variables: changesOf(partOf(from, 'variables'), partOf(to, 'variables')),
  }
}

function diffSteps(from: RawPart[], to: RawPart[]): DefinitionDiff['steps'] {
  const before = new Map(from.map((step) => [keyOf(step), step]))
  const after = new Map(to.map((step) => [keyOf(step), step]))
  const changed = [...before].flatMap(([id, step]) => {
    const other = after.get(id)
    const fields = other ? changesOf(ownFields(step), ownFields(other)) : []
    return fields.length > 0 ? [{ id, fields }] : []
  })
  return {
    added: [...after].filter(([id]) => !before.has(id)).map(nameStep),
    removed: [...before].filter(([id]) => !after.has(id)).map(nameStep),
    changed,
    reordered: !isDeepStrictEqual(orderOf(before, after), orderOf(after, before)),
  }
}

function nameStep([id, { fields, place }]: [string, RawPart]) {
  const { type } = fields
  return { id, type: typeof type === 'string' ? type : null, path: place.path }
}

/** Only a draft may have steps without an id. */
function keyOf({ place }: RawPart): string {
  return place.stepId ?? place.path
}

/** The steps of a loop are compared as steps. */
function ownFields({ fields: { steps, ...fields } }: RawPart): Fields {
  return Array.isArray(steps) ? fields : { ...fields, ...(steps === undefined ? {} : { steps }) }
}

/** The steps that both have, in the order of the first, each with the list it stands in. */
function orderOf(steps: Map<string, RawPart>, others: Map<string, RawPart>): string[][] {
  const ids = new Map([...steps].map(([id, { place }]) => [place.path, id]))
  return [...steps]
    .filter(([id]) => others.has(id))
    .map(([id, { place }]) => [ids.get(place.path.replace(/\.steps\.\d+$/, '')) ?? '', id])
}

/** Triggers have no names: one that differs in anything is another one. */
function missingFrom(known: RawPart[], given: RawPart[]): Record<string, unknown>[] {
  const left = known.map(({ fields }) => fields)
  return given.flatMap(({ fields }) => {
    const index = left.findIndex((one) => isDeepStrictEqual(one, fields))
    if (index === -1) return [{ ...fields }]
    left.splice(index, 1)
    return []
  })
}

function changesOf(from: Fields, to: Fields): FieldChange[] {
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  return names
    .filter((name) => !isDeepStrictEqual(from[name], to[name]))
    .map((field) => ({ field, from: from[field] ?? null, to: to[field] ?? null }))
}

function partOf(definition: Fields, name: string): Fields {
  return asDocument(Object.hasOwn(definition, name) ? definition[name] : {}).fields
}
