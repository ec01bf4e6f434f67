export type MailboxKind = 'conversation' | 'contact' | 'run'

/** A unit that is advanced in order under one lock: a conversation, a contact without one, or a run with neither. */
export type Mailbox = { kind: MailboxKind; id: string }

/** A run without a contact owns a mailbox, which the runs that it starts share: `mailboxRunId`. */
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
