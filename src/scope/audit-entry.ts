import { isDeepStrictEqual } from 'node:util'
import type { Database } from '../platform/database/database.ts'
import { createSqlTag } from '../platform/database/sql.ts'
import { getField } from '../platform/fields.ts'
import { isUuid, newId } from '../platform/ids.ts'

/** Targets that an audit event lists. */
const TARGETS_MAX = 100

export type AuditTarget = { type: string; id: string }

/** The request that an audit event comes from. */
export type AuditContext = { address: string | null; userAgent: string | null; requestId: string }

/**
 * A field that a call sets. Its values are stored only if `mayStore` returns true: enums, booleans and IDs. That of a `whole`
 * is an object, which replaces the previous one, and whose own fields are listed as well.
 */
export type AuditedField = {
  path: readonly string[]
  value: unknown
  mayStore: (value: unknown) => boolean
  isWhole: boolean
}

/** The content of the input of a call. `createdType` is the type of the object whose ID the call returns. */
type Description = {
  targets: AuditTarget[]
  fields: AuditedField[]
  createdType?: string | undefined
  /** True for a change of no field. */
  isEmpty?: boolean
}

type Options = { action: string; outcome: 'succeeded' | 'refused'; context: AuditContext }
type Origin = { tenantId: string; actor: { type: 'user' | 'key' | 'system'; id: string | null }; now: Date }
type Committed = { targets: AuditTarget[]; previous: object | undefined }
type StoredField = { name: string; from?: unknown; to?: unknown }

/**
 * The audit event of a call. Each transaction of the call writes it at its end, the first one inserting the row, so that
 * it is stored if and only if something else is.
 */
export class AuditEntry {
  readonly #id = newId()
  readonly #options: Options
  #description: Description = { targets: [], fields: [] }
  #created: AuditTarget[] = []
  #added: AuditTarget[] = []
  #committed: Committed = { targets: [], previous: undefined }
  #previous: object | undefined
  #isChanged = false
  #isDropped = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Sets what the input says. */
  describe(description: Description): void {
    this.#description = description
  }

  /** Forgets what a transaction said that was rolled back. */
  begin(): void {
    this.#created = []
    this.#added = []
    this.#previous = undefined
    this.#isChanged = false
    this.#isDropped = false
  }

  /** Keeps what a transaction said that was committed, to which later ones of the call add. */
  keep(): void {
    if (this.#isDropped) return
    const { targets, previous } = this.#committed
    this.#committed = {
      targets: [...targets, ...this.#created, ...this.#added],
      previous: this.#previous ?? previous,
    }
    this.begin()
  }

  /** Writes nothing in this transaction, which changes nothing. */
  drop(): void {
    this.#isDropped = true
  }

  /**
   * Compares the input with the row as it was. Fields that are equal are left out, and those that may be stored have the
   * previous value, too. An object that lacks fields of the previous one is not equal. If all fields are equal, nothing is
   * written, unless `isChanged` says that the call changes something that the input does not have.
   */
  compareWith(previous: object, { isChanged = false } = {}): void {
    this.#previous = previous
    this.#isChanged = isChanged
  }

  /** Adds objects that the input does not name. */
  addTargets(type: string, ids: Iterable<string>): void {
    for (const id of ids) this.#added.push({ type, id })
  }

  /** Takes the ID of a created object from the result of a transaction. */
  addCreated(result: unknown): void {
    const { createdType } = this.#description
    const id = createdType === undefined ? undefined : getField(result, 'id')
    if (createdType !== undefined && typeof id === 'string' && isUuid(id)) this.#created = [{ type: createdType, id }]
  }

  async write(db: Database, { tenantId, actor, now }: Origin): Promise<void> {
    const { targets, fields } = this.#description
    const changed = this.#listChanged(fields)
    const isEqual = this.#previous !== undefined && changed.length === 0
    const isUnchanged = isEqual && !this.#isChanged
    if (this.#isDropped || isUnchanged || this.#description.isEmpty) return
    const all = [...targets, ...this.#committed.targets, ...this.#created, ...this.#added]
    const distinct = [...new Map(all.map((target) => [`${target.type} ${target.id}`, target])).values()]
    const listed = distinct.slice(0, TARGETS_MAX)
    const { action, outcome, context } = this.#options
    await createSqlTag(db, 'writeAuditEvent')`
      insert into audit_events (tenant_id, id, action, outcome, actor_type, actor_id, targets, target_ids, target_count,
        fields, address, user_agent, request_id, created_at)
      values (${tenantId}, ${this.#id}, ${action}, ${outcome}, ${actor.type},
        ${actor.id}, ${JSON.stringify(listed)}::jsonb, ${listed.map(({ id }) => id)}::uuid[],
        ${distinct.length}, ${JSON.stringify(changed)}::jsonb, ${context.address}, ${context.userAgent},
        ${context.requestId}, ${now})
      on conflict (tenant_id, id) do update set targets = excluded.targets, target_ids = excluded.target_ids,
        target_count = excluded.target_count, fields = excluded.fields`
  }

  #listChanged(fields: AuditedField[]): StoredField[] {
    return fields.flatMap(({ path, value, mayStore, isWhole }) => {
      const name = path.join('.')
      const previous = readPath(this.#previous ?? this.#committed.previous, path)
      if (isWhole) return lacksFields(value, previous) ? [{ name }] : []
      if (previous !== undefined && isDeepStrictEqual(previous, value ?? null)) return []
      const isStored = mayStore(value) && (previous === undefined || mayStore(previous))
      return [isStored ? { name, ...(previous === undefined ? {} : { from: previous }), to: value ?? null } : { name }]
    })
  }
}

/** Returns true if an object does not have all fields of the previous one that are set. */
function lacksFields(value: unknown, previous: unknown): boolean {
  return Object.entries(previous ?? {}).some(
    ([name, one]) => (one ?? null) !== null && getField(value, name) === undefined,
  )
}

/** Returns the value at a path, null if it is empty, and undefined if the object has no such field. */
function readPath(object: unknown, path: readonly string[]): unknown {
  const parent = path.slice(0, -1).reduce(getField, object)
  const name = path.at(-1) ?? ''
  const hasField = typeof parent === 'object' && parent !== null && name in parent
  return hasField ? (getField(parent, name) ?? null) : undefined
}
