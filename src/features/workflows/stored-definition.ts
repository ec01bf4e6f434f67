import type { Location } from '../../engine/language/definition/problems.ts'

type Fields = Readonly<Record<string, unknown>>

/** A part of a definition as it was given, sound or not, and where it stands. */
export type RawPart = { fields: Fields; place: Location }

export function asDocument(definition: unknown): RawPart {
  return { fields: fieldsOf(definition), place: { stepId: null, path: '', name: 'Workflow' } }
}

export function listTriggers(definition: unknown): RawPart[] {
  return listIn(fieldsOf(definition), 'triggers').map((trigger, index) => ({
    fields: fieldsOf(trigger),
    place: { stepId: null, path: `triggers.${index}`, name: `Trigger ${index + 1}` },
  }))
}

/** All steps, those of loops behind their loop. */
export function listSteps(definition: unknown): RawPart[] {
  return stepsIn(fieldsOf(definition), 'steps')
}

function stepsIn(owner: Fields, path: string): RawPart[] {
  return listIn(owner, 'steps').flatMap((step, index) => {
    const fields = fieldsOf(step)
    const { id } = fields
    const at = `${path}.${index}`
    const place: Location =
      typeof id === 'string'
        ? { stepId: id, path: at, name: `Step "${id}"` }
        : { stepId: null, path: at, name: `Step ${index + 1}` }
    return [{ fields, place }, ...stepsIn(fields, `${at}.steps`)]
  })
}

/** What stands at `message.buttons.*.title` within a part, `*` being every entry of a list. */
export function valuesAt({ fields }: RawPart, path: string): { path: string; value: unknown }[] {
  const found = path.split('.').reduce<{ path: string[]; value: unknown }[]>(
    (reached, name) =>
      reached.flatMap(({ path: before, value }) => {
        if (typeof value !== 'object' || value === null) return []
        const names = name !== '*' ? [name] : Array.isArray(value) ? [...value.keys()].map(String) : []
        return names
          .filter((one) => Object.hasOwn(value, one))
          .map((one) => ({ path: [...before, one], value: Reflect.get(value, one) as unknown }))
      }),
    [{ path: [], value: fields }],
  )
  return found.map(({ path: at, value }) => ({ path: at.join('.'), value }))
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function listIn(owner: Fields, field: string): unknown[] {
  const list = Object.hasOwn(owner, field) ? owner[field] : undefined
  // Lists that are too long are refused as such.
  return Array.isArray(list) && list.length <= 500 ? list : []
}
