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

type BuiltinDefinition = Pick<Tool, 'name' | 'title' | 'description' | 'effect' | 'inputSchema' | 'outputSchema'>

const DEFINITIONS: BuiltinDefinition[] = [
  {
    name: 'contact.get',
    title: 'Get the contact',
    description: 'Returns the details of a contact.',
    effect: 'read',
    inputSchema: object({ contactId: uuid }),
    outputSchema: contact,
  },
  {
    name: 'contact.update',
    title: 'Update the contact',
    description: "Updates a contact's name, email, language, time zone or fields.",
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
    description: 'Adds tags to a contact; tags it already has are ignored.',
    effect: 'write',
    inputSchema: object({ contactId: uuid, tags: { type: 'array', items: text, minItems: 1 } }),
    outputSchema: contact,
  },
  {
    name: 'conversation.handoff',
    title: 'Hand off to a person',
    description: 'Pauses automation so that a person can reply.',
    effect: 'write',
    inputSchema: object({ conversationId: uuid, reason: text }, ['conversationId']),
    outputSchema: object({}),
  },
  {
    name: 'conversation.close',
    title: 'Close the conversation',
    description: 'Closes a conversation; the next message of the customer reopens it.',
    effect: 'write',
    inputSchema: object({ conversationId: uuid }),
    outputSchema: object({}),
  },
  {
    name: 'message.send',
    title: 'Send a message',
    description: 'Sends a text message within the 24-hour window.',
    effect: 'external_send',
    inputSchema: object({ conversationId: uuid, body: { type: 'string', minLength: 1, maxLength: 4096 } }),
    outputSchema: object({ messageId: uuid }),
  },
  {
    name: 'http.request',
    title: 'Send an HTTP request',
    description: 'Sends a request to a public URL and returns the response.',
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
    title: 'Get the current time',
    description: 'Returns the current time, in a time zone if one is given.',
    effect: 'read',
    inputSchema: object({ timezone: text }, []),
    outputSchema: object({ now: { type: 'string', format: 'date-time' } }),
  },
]

/** Tools of every workspace, with IDs that never change. */
export const BUILTIN_TOOLS: Tool[] = DEFINITIONS.map((tool, index) => ({
  ...tool,
  id: `0199c0de-b111-7000-8000-${String(index + 1).padStart(12, '0')}`,
  type: 'builtin',
  config: null,
  enabled: true,
  createdAt: null,
  updatedAt: null,
}))
