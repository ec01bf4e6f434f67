/** Fields that placeholders can read below a value. Null stands for a value of any form, whose fields are not known. */
export type Fields = { readonly [name: string]: Fields | null }

/** Fields of the roots that the engine itself provides, whatever the product adds. */
export const ENGINE_FIELDS = {
  run: { id: null, startedAt: null },
  workflow: { id: null, name: null, version: null },
  loop: { index: null, number: null, length: null, first: null, last: null },
} as const satisfies Fields

/** Fields of what started a run, whatever its type. A `run_workflow` step of another run leaves `runId`. */
export const TRIGGER_FIELDS = { type: null, messageId: null, runId: null } as const satisfies Fields

export function toFields(names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, null]))
}

/** The template language computes it for texts, lists and objects. */
const COMPUTED = 'size'

/** A field that its owner does not have. `owner` is the path of the owner within the value, and `names` its fields. */
export type UnknownField = { name: string; owner: string[]; names: readonly string[] }

const listed = new WeakMap<Fields, readonly string[]>()

/** Lists the names of fields once: a step may have many, and many placeholders may read fields that it does not have. */
function listNames(fields: Fields): readonly string[] {
  const names = listed.get(fields) ?? Object.keys(fields)
  listed.set(fields, names)
  return names
}

/** Finds the first part of a path that does not exist. A part that is computed when the path is read is empty. */
export function findUnknownField(path: readonly string[], fields: Fields | null): UnknownField | undefined {
  let current = fields
  for (const [index, name] of path.entries()) {
    if (current === null || name === '' || name === COMPUTED) return undefined
    if (!Object.hasOwn(current, name)) return { name, owner: path.slice(0, index), names: listNames(current) }
    current = current[name] ?? null
  }
  return undefined
}
