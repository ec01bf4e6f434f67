import type { z } from 'zod'
import type { EventData } from '../../models/automation.ts'
import { Message as MessageRow, Template as TemplateRow, Channel as ChannelRow } from '../../models/messaging.ts'
import { isTransient } from '../../platform/database/database.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { CUSTOM_EVENT, findEventType, isCustomEvent, type Resource, RESOURCES } from '../../scope/event-types.ts'
import type { Scope } from '../../scope/scope.ts'
import type { ApiScope } from '../../trpc/api-scopes.ts'
import { createSelect } from '../../trpc/select-output.ts'
import { loadBroadcasts } from '../broadcasts/queries.ts'
import { Broadcast } from '../broadcasts/schema.ts'
import { toChannel } from '../channels/queries.ts'
import { Channel } from '../channels/schema.ts'
import { CONTACT_SOURCE, type ContactView, toContact } from '../contacts/queries.ts'
import { Contact } from '../contacts/schema.ts'
import { loadConversations } from '../conversations/queries.ts'
import { Conversation, Message } from '../conversations/schema.ts'
import { loadPayloads } from '../events/payloads.ts'
import { attachMedia } from '../media/queries.ts'
import { readItems } from '../paging/read-items.ts'
import { RUN_SOURCE, type RunDetails, toRun } from '../runs/queries.ts'
import { RunSummary } from '../runs/schema.ts'
import { toTemplate } from '../templates/queries.ts'
import { Template } from '../templates/schema.ts'
import { loadWorkflows } from '../workflows/queries.ts'
import { Workflow } from '../workflows/schema.ts'

/** Sizes of the largest objects, roughly: a definition, and the content of a message, the fields of a contact or a payload. */
const WORKFLOW_BYTES_MAX = 512 * 1024
const OTHER_BYTES_MAX = 64 * 1024
/** Objects of this size are in memory together. */
const LOADED_BYTES_MAX = 100 * OTHER_BYTES_MAX

type Item = { id: string; contactId?: string | null; contact?: { id: string } | null }

/** A way to read the objects of events: their form, the scope that reading them needs, and the statement for several. */
type Source = { schema: z.ZodType; scope: ApiScope; load: (scope: Scope, ids: string[]) => Promise<Item[]> }

export const SOURCES: Readonly<Record<Resource, Source>> = {
  contact: {
    schema: Contact,
    scope: 'contacts:read',
    load: async (scope, ids) => {
      const isOne = sqlFragment`contacts.id = any(${ids}::uuid[])`
      const rows = await readItems<ContactView>(scope, 'loadContacts', CONTACT_SOURCE, isOne)
      return rows.map((row) => ({ ...toContact(row), contactId: row.id }))
    },
  },
  message: {
    schema: Message,
    scope: 'conversations:read',
    load: async (scope, ids) => attachMedia(scope, await scope.query(MessageRow).whereIn('id', ids)),
  },
  conversation: { schema: Conversation, scope: 'conversations:read', load: loadConversations },
  run: {
    schema: RunSummary,
    scope: 'runs:read',
    load: async (scope, ids) => {
      const isOne = sqlFragment`runs.id = any(${ids}::uuid[])`
      return (await readItems<RunDetails>(scope, 'loadRuns', RUN_SOURCE, isOne)).map(toRun)
    },
  },
  broadcast: { schema: Broadcast, scope: 'broadcasts:read', load: loadBroadcasts },
  template: {
    schema: Template,
    scope: 'templates:read',
    load: async (scope, ids) => (await scope.query(TemplateRow).whereIn('id', ids)).map(toTemplate),
  },
  workflow: { schema: Workflow, scope: 'workflows:read', load: loadWorkflows },
  channel: {
    schema: Channel,
    scope: 'channels:read',
    load: async (scope, ids) => (await scope.query(ChannelRow).whereIn('id', ids)).map(toChannel),
  },
}

type EventRef = { eventId: string; type: string; data: EventData }

/** An object as the API shows it now, and the contact that it is about, if any. */
export type LoadedResource = { value: unknown; contactId: string | null }

/** The contents of the bodies of events: resources by their keys, and payloads by the IDs of the events. */
export type Contents = {
  resources: ReadonlyMap<string, LoadedResource>
  payloads: Awaited<ReturnType<typeof loadPayloads>>
}

export const NO_CONTENTS: Contents = { resources: new Map(), payloads: new Map() }

/** Reads what events are about, objects of a kind together. What does not exist any more is missing. */
export async function loadContents(scope: Scope, events: readonly EventRef[]): Promise<Contents> {
  const [resources, payloads] = await Promise.all([
    loadResources(scope, events),
    loadPayloads(
      scope,
      events.map(({ eventId: id, type }) => ({ id, type })),
    ),
  ])
  return { resources, payloads }
}

async function loadResources(scope: Scope, events: readonly EventRef[]): Promise<Map<string, LoadedResource>> {
  const ids = new Map<Resource, Set<string>>()
  for (const event of events) {
    const reference = findReference(event)
    if (!reference) continue
    const { resource, id } = reference
    ids.set(resource, (ids.get(resource) ?? new Set()).add(id))
  }
  const loaded = await Promise.all([...ids].map(([resource, some]) => load(scope, resource, [...some])))
  return new Map(loaded.flat())
}

/** Returns how many of the events, at least one, have contents that may be in memory together. */
export function countLoadable(events: readonly EventRef[]): number {
  const counted = new Set<string>()
  let bytes = 0
  for (const [index, event] of events.entries()) {
    if (isCustomEvent(event.type)) bytes += OTHER_BYTES_MAX
    const reference = findReference(event)
    if (reference && !counted.has(toKey(reference))) {
      counted.add(toKey(reference))
      bytes += reference.resource === 'workflow' ? WORKFLOW_BYTES_MAX : OTHER_BYTES_MAX
    }
    if (bytes > LOADED_BYTES_MAX) return index
  }
  return events.length
}

async function load(scope: Scope, resource: Resource, ids: string[]): Promise<[string, LoadedResource][]> {
  const select = createSelect(SOURCES[resource].schema, 'text')
  const items = await loadItems(scope, resource, ids)
  return items.flatMap((item): [string, LoadedResource][] => {
    try {
      const contactId = item.contactId ?? item.contact?.id ?? null
      return [[toKey({ resource, id: item.id }), { value: select(item), contactId }]]
    } catch (error) {
      // It must not hold up the events after it.
      scope.log.error({ event: 'resource_missing', err: error, resource, id: item.id }, 'a webhook has no resource')
      return []
    }
  })
}

/** Reads objects together, or one by one if that fails, so that a damaged one does not hold up the events of others. */
async function loadItems(scope: Scope, resource: Resource, ids: string[]): Promise<Item[]> {
  try {
    return await SOURCES[resource].load(scope, ids)
  } catch (error) {
    if (isTransient(error)) throw error
    if (ids.length === 1) {
      scope.log.error({ event: 'resource_missing', err: error, resource, id: ids[0] }, 'a webhook has no resource')
      return []
    }
    const items: Item[] = []
    for (const id of ids) items.push(...(await loadItems(scope, resource, [id])))
    return items
  }
}

/** Returns the key of the resource of an event; undefined if it is about no object. */
export function toResourceKey(event: EventRef): string | undefined {
  const reference = findReference(event)
  return reference && toKey(reference)
}

type Reference = { resource: Resource; id: string }

function toKey({ resource, id }: Reference): string {
  return `${resource} ${id}`
}

function findReference({ type, data }: EventRef): Reference | undefined {
  const { resource, data: [field = ''] = [] } = findEventType(type) ?? {}
  const id = data[field]
  return resource && id ? { resource, id } : undefined
}

/** Lists the scopes that reading the objects of all events needs that are of one of the types; of any type for null. */
export function listReadScopes(types: readonly string[] | null): ApiScope[] {
  const isOfType = (resource: Resource) =>
    types === null ||
    types.some((type) => type.startsWith(`${resource}.`) || (isCustomEvent(type) && resource === CUSTOM_EVENT.resource))
  return [...new Set(RESOURCES.filter(isOfType).map((resource) => SOURCES[resource].scope))]
}
