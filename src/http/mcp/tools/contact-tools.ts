import { z } from 'zod'
import { id, text } from '../../../trpc/schemas.ts'
import { showUntrusted } from '../result.ts'
import { defineTool, type Tool } from '../tool.ts'

const CUT = 20

/** The fields of a page, which each tool with pages has. */
export const pageFields = {
  limit: z.int().min(1).max(50).default(CUT),
  cursor: z.string().max(2000).optional().meta({ description: 'The nextCursor of the page before' }),
}

/** Other records of one contact that are listed. */
const RECENT = 5
const tags = z.array(text(50)).max(50).optional()

export const contactTools: Tool[] = [
  defineTool({
    name: 'find_contacts',
    title: 'Find contacts',
    description: 'Finds people by part of their name, number, email or external ID, by tag or by group. Newest first.',
    scopes: ['contacts:read'],
    effect: 'read',
    input: z.strictObject({
      query: text(100).optional(),
      tag: text(50).optional().meta({ description: 'Name of a tag' }),
      groupId: id.optional(),
      ...pageFields,
    }),
    async run({ api }, { query: q, ...filter }) {
      const { items, ...page } = await api.contacts.list({ q, ...filter })
      const found = items.map(({ id: contactId, name, phone, email, blocked, consent, ...contact }) => ({
        contactId,
        name,
        phone,
        email,
        blocked,
        marketingConsent: consent.marketing,
        tags: contact.tags.map((tag) => tag.name),
        lastInboundAt: contact.lastInboundAt,
      }))
      return showUntrusted({ ...page, items: found })
    },
  }),
  defineTool({
    name: 'read_contact',
    title: 'Read a contact',
    description: 'Returns a person with all fields and consent, and their latest conversations and runs of workflows.',
    scopes: ['contacts:read'],
    effect: 'read',
    input: z.strictObject({ contactId: id }),
    async run(call, { contactId }) {
      const contact = await call.api.contacts.get({ contactId })
      const consent = await call.api.contacts.getConsent({ contactId })
      const recent = { contactId, limit: RECENT }
      const conversations = await call.readIf('conversations:read', () => call.api.conversations.list(recent))
      const runs = await call.readIf('runs:read', () => call.api.runs.list(recent))
      return showUntrusted({ contact, consent, conversations: conversations?.items, runs: runs?.items })
    },
  }),
  defineTool({
    name: 'tag_contact',
    title: 'Tag a contact',
    description:
      'Adds and removes tags of a person, by their names. Unknown tags are created. Workflows may start when a tag is added, and send messages.',
    scopes: ['contacts:write'],
    effect: 'write',
    input: z.strictObject({ contactId: id, add: tags, remove: tags }),
    async run({ api }, { contactId, add: addTags, remove: removeTags }) {
      const { name, tags: now } = await api.contacts.update({ contactId, addTags, removeTags })
      return showUntrusted({ contactId, name, tags: now.map((tag) => tag.name) })
    },
  }),
]
