import type { Tool } from './schema.ts'

const text = { type: 'string' }
const uuid = { type: 'string', format: 'uuid' }
const object = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
})

const contact = object({
  id: uuid,
  name: text,
  phone: { type: ['string', 'null'] },
  tags: { type: 'array', items: text },
})

type Builtin = Pick<Tool, 'name' | 'title' | 'description' | 'effect' | 'inputSchema' | 'outputSchema'>

const CATALOGUE: Builtin[] = [
  {
    name: 'contact.get',
    title: 'Look up the contact',
    description: 'Gives what is known of a contact.',
    effect: 'read',
    inputSchema: object({ contactId: uuid }),
    outputSchema: contact,
  },
  {
    name: 'contact.update',
    title: 'Change the contact',
    description: "Changes a contact's name, e-mail, language, time zone or fields.",
    effect: 'write',
    inputSchema: object(
      { contactId: uuid, name: text, email: text, language: text, timezone: text, fields: { type: 'object' } },
      ['contactId'],
    ),
    outputSchema: contact,
  },
  {
    name: 'contact.tag',
    title: 'Tag the contact',
    description: 'Adds tags to a contact; adding one twice leaves one.',
    effect: 'write',
    inputSchema: object({ contactId: uuid, tags: { type: 'array', items: text, minItems: 1 } }),
    outputSchema: contact,
  },
  {
    name: 'conversation.handoff',
    title: 'Hand over to a person',
    description: 'Pauses automation, so that a person answers.',
    effect: 'write',
    inputSchema: object({ conversationId: uuid, reason: text }, ['conversationId']),
    outputSchema: object({}),
  },
  {
    name: 'conversation.close',
    title: 'Close the conversation',
    description: 'Closes a conversation; the customer reopens it by writing.',
    effect: 'write',
    inputSchema: object({ conversationId: uuid }),
    outputSchema: object({}),
  },
  {
    name: 'message.send',
    title: 'Send a message',
    description: 'Sends a text within the 24-hour window.',
    effect: 'external_send',
    inputSchema: object({ conversationId: uuid, body: { type: 'string', minLength: 1, maxLength: 4096 } }),
    outputSchema: object({ messageId: uuid }),
  },
  {
    name: 'http.request',
    title: 'Call a web address',
    description: 'Calls a public web address and gives its answer.',
    effect: 'write',
    inputSchema: object(
      {
        method: { type: 'string', enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
        url: { type: 'string', format: 'uri' },
        headers: { type: 'object', additionalProperties: text },
        json: {},
      },
      ['url'],
    ),
    outputSchema: object({ status: { type: 'integer' }, json: {}, text }, ['status']),
  },
  {
    name: 'time.now',
    title: 'Tell the time',
    description: 'Gives the time, in a time zone if one is named.',
    effect: 'read',
    inputSchema: object({ timezone: text }, []),
    outputSchema: object({ now: { type: 'string', format: 'date-time' } }),
  },
]

/** The tools that every workspace has, under ids that never change. */
export const BUILTIN_TOOLS: Tool[] = CATALOGUE.map((tool, index) => ({
  ...tool,
  id: `0199c0de-b111-7000-8000-${String(index + 1).padStart(12, '0')}`,
  kind: 'builtin',
  config: null,
  enabled: true,
  createdAt: null,
  updatedAt: null,
}))
