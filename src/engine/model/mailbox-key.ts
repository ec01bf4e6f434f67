export type MailboxKind = 'conversation' | 'contact' | 'run'

/** What is advanced as one, in order, under one lock: a conversation, a contact that has none, or a run with neither. */
export type Mailbox = { kind: MailboxKind; id: string }

/** A run about nobody has its own mailbox, in which those that it starts have their place, too: `mailboxRunId`. */
export function toMailbox(run: {
  id: string
  conversationId: string | null
  contactId: string | null
  mailboxRunId: string | null
}): Mailbox {
  if (run.conversationId !== null) return { kind: 'conversation', id: run.conversationId }
  if (run.contactId !== null) return { kind: 'contact', id: run.contactId }
  return { kind: 'run', id: run.mailboxRunId ?? run.id }
}
