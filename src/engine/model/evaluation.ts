/** Reasons why a published workflow with a trigger for an event was not started by it. */
export type Outcome =
  | 'no_match'
  | 'condition_not_met'
  | 'already_running'
  | 'automation_paused'
  | 'contact_blocked'
  | 'consent_keyword'
  | 'consumed_as_reply'
  | 'preempted_by_priority'
  | 'max_depth_exceeded'
  | 'cascade_rate_limited'
  | 'workflow_unusable'

export type Evaluation = { workflowId: string; version: number; outcome: Outcome; detail: string | null }

/** An event with the workflows that it did not start. `id` is that of the mailbox item. */
export type EvaluatedEvent = {
  id: string
  contactId: string | null
  conversationId: string | null
  event: { type: string; messageId: string | null; name: string | null }
  evaluations: Evaluation[]
}
