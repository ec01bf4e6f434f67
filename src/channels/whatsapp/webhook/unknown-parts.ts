import { getField } from '../../../platform/fields.ts'
import { isKnownType } from './parse-message.ts'

const UNKNOWN_MAX = 50
const NAME_MAX = 100

const KEYS = {
  value: new Set(['messaging_product', 'metadata', 'contacts', 'messages', 'statuses', 'errors']),
  message: new Set(
    `from from_user_id from_parent_user_id to to_user_id to_parent_user_id id timestamp type context referral errors
     group_id`.split(/\s+/),
  ),
  status: new Set(
    `id status timestamp recipient_id recipient_user_id recipient_parent_user_id recipient_type biz_opaque_callback_data
     conversation pricing errors`.split(/\s+/),
  ),
}
const STATUSES = new Set(['sent', 'delivered', 'read', 'played', 'failed'])

/** Names of the parts of a webhook that the adapter does not know, each once, at most 50. */
export class UnknownParts {
  readonly #names = new Set<string>()

  add(name: string): void {
    if (this.#names.size < UNKNOWN_MAX) this.#names.add(name.slice(0, NAME_MAX).toWellFormed())
  }

  /** Adds the unknown keys of an object. The key that `own` names has the content of the part. */
  addKeys(kind: keyof typeof KEYS, part: unknown, own?: unknown): void {
    if (typeof part !== 'object' || part === null) return
    for (const key of Object.keys(part)) if (key !== own && !KEYS[kind].has(key)) this.add(`${kind}.${key}`)
  }

  addTypes(messages: unknown[]): void {
    for (const message of messages) {
      const type = getField(message, 'type')
      if (typeof type === 'string' && !isKnownType(type)) this.add(`message:${type}`)
      const systemType = type === 'system' ? getField(getField(message, 'system'), 'type') : undefined
      if (typeof systemType === 'string' && !systemType.startsWith('user_changed_')) this.add(`system:${systemType}`)
      this.addKeys('message', message, type)
    }
  }

  addStatuses(statuses: unknown[]): void {
    for (const part of statuses) {
      const status = getField(part, 'status')
      if (typeof status === 'string' && !STATUSES.has(status)) this.add(`status:${status}`)
      this.addKeys('status', part)
    }
  }

  list(): string[] {
    return [...this.#names]
  }
}
