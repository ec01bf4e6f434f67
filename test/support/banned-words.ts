/**
 * Words that the code, the documents and the test titles must not use, because the field has a standard term for each
 * (`docs/glossary.md`). The value is the term to use instead.
 */

/** Single words, in prose and as a part of an identifier (`ring` is found in `ringBell` and in `ring_at`). */
export const BANNED_WORDS: Record<string, string> = {
  bell: 'job',
  bells: 'jobs',
  ring: 'enqueue, fire',
  rings: 'enqueues, fires',
  ringing: 'enqueueing',
  rung: 'enqueued',
  duty: 'periodic task',
  duties: 'periodic tasks',
  inbox: 'mailbox_items, mailbox',
  party: 'subject',
  parties: 'subjects',
  told: 'reported, notified',
  held: 'paused, locked, stored',
  storm: 'chaos',
  storms: 'chaos runs',
  rage: 'injectFaults',
  sleepers: 'waiting runs',
  stranger: 'unknown sender',
  strangers: 'unknown senders',
  performer: 'executor',
  performers: 'executors',
  performances: 'claim_count',
  onwards: 'fallthrough',
  whoever: 'name the role',
  shall: 'must, is to',
  house: 'application',
}

/** Compound names, joined in any way: `tookIn`, `took_in`, `took-in`, `TOOK_IN`. Prose is free to use the words. */
export const BANNED_COMPOUNDS: Record<string, string> = {
  'mailbox turn': 'MailboxProcessor',
  'turn host': 'EnginePort',
  'engine host': 'EnginePort',
  'open runs': 'ActiveRuns',
  'run beginning': 'StartRequest',
  'chain guard': 'CascadeLimiter',
  'placed effect': 'EffectRequest',
  'run fault': 'CorruptRunError',
  'why not': 'trigger-evaluations',
  'reply taken': 'consumed_as_reply',
  'command first': 'preempted_by_priority',
  'took in': 'debounced',
  'took reply': 'reply_consumed',
  'too often': 'cascade_rate_limited',
  'too deep': 'max_depth_exceeded',
  'no such trigger': 'trigger_not_found',
  'run was dry': 'run_is_dry_run',
  'other contact': 'conversation_contact_mismatch',
  'draft not live': 'draft_requires_dry_run',
  'nothing recorded': 'input_not_recorded',
  'steps changed': 'definition_changed',
  'wrong variables': 'invalid_variables',
  'not outside': 'not_external_step',
  'nothing failed': 'no_failed_step',
  'nothing happened': 'no_matching_event',
  'answer unreadable': 'invalid_response',
  'falls through': 'always',
  'when told': 'explicit',
  'of draft': 'is_draft',
  'message refs': 'provider_message_ids',
  'channel directory': 'channel_routes',
  'assignment turn': 'last_assigned_at',
  'steady until': 'cacheableUntil',
  'still there': 'KEEPALIVE',
  'shut out': 'revoked',
  'under way': 'in flight',
  'shared work': 'Batcher',
  'fair work': 'JobExecutor',
  'call outside': 'fetchPublic',
  'outside refused': 'OutboundError',
  'store inbound': 'insertInbound',
  'come to rest': 'waitUntilIdle',
  'cost of': 'totalCpu',
}

/** Phrases of prose, within one line. */
export const BANNED_PHRASES: Record<string, string> = {
  'by a fault of ours': 'because of an internal error',
  'bring forward': 'advance',
  'brings forward': 'advances',
  'brought forward': 'advanced',
  'put away': 'archived',
  'puts away': 'archives',
  anew: 'again',
  'throw-away': 'temporary',
}

/** The first word of a file name or an identifier of several words. */
export const BANNED_PREFIXES: Record<string, string> = { bare: 'baseline' }

/** Shapes of the names of functions and methods. */
export const BANNED_FUNCTION_NAMES: [shape: RegExp, instead: string][] = [
  [/^(?:refuse|refusal|refuses)(?:[A-Z]|$)/, 'assert…, …Error'],
  [/^present(?:[A-Z]|$)/, 'to…'],
  [/[a-z0-9]Of$/, 'a verb or a conversion'],
  [/^tell(?:[A-Z]|$)/, 'report, dispatch, notify'],
]

/** A docstring starts with a verb in the third person or with a noun phrase. */
export const BANNED_DOCSTRING_STARTS = ['What', 'Whether', 'Who', 'Whom', 'Whose', 'Why', 'Of', 'How', 'Where', 'When']
