import { locateStep, type Location } from '../../engine/language/definition/problems.ts'

type Fields = Readonly<Record<string, unknown>>

/** A trigger, step or the root of a definition as it is stored, valid or not, with its location. */
export type DefinitionPart = { fields: Fields; location: Location }

export function toRootPart(definition: unknown): DefinitionPart {
  return { fields: toFields(definition), location: { stepId: null, path: '', name: 'Workflow' } }
}

export function listTriggers(definition: unknown): DefinitionPart[] {
  return toList(toFields(definition), 'triggers').map((trigger, index) => ({
    fields: toFields(trigger),
    location: { stepId: null, path: `triggers.${index}`, name: `Trigger ${index + 1}` },
  }))
}

/** Lists all steps; those of a loop follow their loop. */
export function listSteps(definition: unknown): DefinitionPart[] {
  return listStepsIn(toFields(definition), 'steps')
}

function listStepsIn(owner: Fields, path: string): DefinitionPart[] {
  return toList(owner, 'steps').flatMap((step, index) => {
    const fields = toFields(step)
    const { id } = fields
    const stepPath = `${path}.${index}`
    const location = locateStep(typeof id === 'string' ? id : undefined, stepPath, index)
    return [{ fields, location }, ...listStepsIn(fields, `${stepPath}.steps`)]
  })
}

type PathValue = { path: string[]; value: unknown }

/** Finds the values at a path such as `message.buttons.*.title`, where `*` is every entry of a list. */
export function findValues({ fields }: DefinitionPart, path: string): { path: string; value: unknown }[] {
  const matches = path.split('.').reduce<PathValue[]>(
    (current, name) =>
      current.flatMap(({ path: parents, value }) => {
        if (typeof value !== 'object' || value === null) return []
        const names = name !== '*' ? [name] : Array.isArray(value) ? [...value.keys()].map(String) : []
        return names
          .filter((one) => Object.hasOwn(value, one))
          .map((one): PathValue => ({ path: [...parents, one], value: Reflect.get(value, one) }))
      }),
    [{ path: [], value: fields }],
  )
  return matches.map(({ path: names, value }) => ({ path: names.join('.'), value }))
}

function toFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function toList(owner: Fields, field: string): unknown[] {
  const list = Object.hasOwn(owner, field) ? owner[field] : undefined
  // A longer list is rejected as a whole by the schema.
  return Array.isArray(list) && list.length <= 500 ? list : []
}
