import type { Fields } from '../engine/language/fields.ts'

/**
 * Fields of the facts that placeholders read, as the check and the reference of definitions list them. The code that
 * builds such facts returns exactly these fields.
 */
export const FACTS = {
  contact: {
    id: null,
    name: null,
    phone: null,
    email: null,
    language: null,
    country: null,
    timezone: null,
    tags: null,
    groupIds: null,
    fields: null,
    consent: { marketing: null, service: null },
    blocked: null,
  },
  conversation: {
    id: null,
    status: null,
    channel: null,
    channelId: null,
    assigneeId: null,
    unreadCount: null,
    lastMessageId: null,
    lastInboundAt: null,
    windowExpiresAt: null,
    canSendFreeform: null,
  },
  message: { id: null, type: null, body: null, content: null, at: null },
  workspace: { id: null, name: null, timezone: null, language: null, country: null },
} as const satisfies Record<string, Fields>

/** The facts of a root, such as those of the contact. */
export type FactsOf<Name extends keyof typeof FACTS> = Record<keyof (typeof FACTS)[Name], unknown>
