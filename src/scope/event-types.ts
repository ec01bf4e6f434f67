/** Description of the events of a type. */
type EventTypeInfo = {
  description: string
  /**
   * The fields of its data, most of them IDs. One that ends with a question mark may be null or missing, and one that ends
   * with brackets is a list.
   */
  data: readonly string[]
  /** The kind of object that webhooks send as `resource`: the API's form of the object that the first field of the data names. */
  resource?: Resource
  /** True if readers also get the data that the sender of the event gave, until its contact is deleted. */
  hasPayload?: true
}

/** Kinds of objects that webhooks send with an event. */
export const RESOURCES = [
  'contact',
  'message',
  'conversation',
  'run',
  'broadcast',
  'template',
  'workflow',
  'channel',
] as const
export type Resource = (typeof RESOURCES)[number]

const MESSAGE = { data: ['messageId', 'conversationId', 'contactId'], resource: 'message' } as const
const CONVERSATION = { data: ['conversationId', 'contactId?'], resource: 'conversation' } as const
const RUN = { data: ['runId', 'workflowId', 'conversationId?', 'firstStep?', 'lastStep?'], resource: 'run' } as const
const DEAD_LETTER = {
  data: ['deadLetterId', 'contactId?', 'conversationId?', 'runId?', 'workflowId?', 'userId?', 'apiKeyId?'],
} as const
const BROADCAST = { data: ['broadcastId', 'channelId?'], resource: 'broadcast' } as const
const TEMPLATE = { data: ['templateId'], resource: 'template' } as const
const WORKFLOW = { data: ['workflowId'], resource: 'workflow' } as const
const CHANNEL = { data: ['channelId'], resource: 'channel' } as const
const CONTACT = { data: ['contactId'], resource: 'contact' } as const
const GROUP = { data: ['groupId', 'contactId'] } as const
const MEDIA = { data: ['mediaId'] } as const
const INVITATION = { data: ['invitationId'] } as const
const MEMBER = { data: ['userId'] } as const
const JOB = { data: ['jobId'] } as const
const ENDPOINT = { data: ['webhookEndpointId'] } as const
const WORKSPACE = { data: ['workspaceId'] } as const
/** Names of fields of the object as the API spells them, of which the event says that they have other values. */
const CHANGED = 'changed[]'

/** Custom events, which are called `custom.` and the name that their sender gives them. */
export const CUSTOM_EVENT = {
  ...CONTACT,
  data: [...CONTACT.data, 'runId?'],
  description: 'A program sent it, or a workflow emitted it',
  hasPayload: true,
} as const satisfies EventTypeInfo

export function isCustomEvent(type: string): boolean {
  return type.startsWith('custom.')
}

/** All types of events, except the custom ones. */
export const EVENT_TYPES = {
  'contact.created': { ...CONTACT, description: 'A contact was created' },
  'contact.updated': { ...CONTACT, data: [...CONTACT.data, CHANGED], description: 'A contact was changed' },
  'contact.deleted': { ...CONTACT, description: 'A contact was deleted, with all that belongs to it' },
  'contact.consent_changed': { ...CONTACT, description: 'A contact opted in or out' },
  'contact.number_conflict': {
    ...CONTACT,
    data: ['contactId', 'conflictingContactId', 'channelId'],
    description: 'A contact changed to a number that another contact has',
  },
  'conversation.opened': { ...CONVERSATION, description: 'A conversation was opened' },
  'conversation.closed': { ...CONVERSATION, description: 'A conversation was closed' },
  'conversation.reopened': { ...CONVERSATION, description: 'A closed conversation was opened again' },
  'conversation.snoozed': { ...CONVERSATION, description: 'A conversation was snoozed' },
  'conversation.updated': {
    ...CONVERSATION,
    data: [...CONVERSATION.data, CHANGED],
    description: 'A conversation was changed',
  },
  'conversation.assigned': { ...CONVERSATION, description: 'A conversation was assigned, or is not assigned any more' },
  'conversation.automation_paused': { ...CONVERSATION, description: 'Workflows do not answer a conversation any more' },
  'conversation.automation_resumed': { ...CONVERSATION, description: 'Workflows answer a conversation again' },
  'message.received': { ...MESSAGE, description: 'A customer wrote' },
  'message.noted': { ...MESSAGE, description: 'A note was added to a conversation' },
  'message.scheduled': { ...MESSAGE, description: 'A message waits for its time' },
  'message.queued': { ...MESSAGE, description: 'A message is about to be sent' },
  'message.sent': { ...MESSAGE, description: 'The provider accepted a message' },
  'message.delivered': { ...MESSAGE, description: 'A message reached the customer' },
  'message.read': { ...MESSAGE, description: 'The customer read a message' },
  'message.played': { ...MESSAGE, description: 'The customer played a voice message' },
  'message.failed': { ...MESSAGE, description: 'A message was not sent or not delivered' },
  'message.canceled': { ...MESSAGE, description: 'A message was canceled before it was sent' },
  'message.media_stored': {
    ...MESSAGE,
    data: [...MESSAGE.data, 'mediaId'],
    description: 'The file of a received message is stored',
  },
  'run.queued': { ...RUN, description: 'A run is about to start' },
  'run.started': { ...RUN, description: 'A run started' },
  'run.running': { ...RUN, description: 'A run is in progress' },
  'run.waiting': { ...RUN, description: 'A run waits for a reply, a time, an event or a call' },
  'run.completed': { ...RUN, description: 'A run reached its end' },
  'run.failed': { ...RUN, description: 'A run failed' },
  'run.canceled': { ...RUN, description: 'A run was canceled' },
  'run.expired': { ...RUN, description: 'A run took longer than its workflow allows' },
  'run.replayed': { ...RUN, data: ['runId', 'replayId', 'conversationId?'], description: 'A run was replayed' },
  'broadcast.created': { ...BROADCAST, description: 'A broadcast was created' },
  'broadcast.updated': { ...BROADCAST, data: [...BROADCAST.data, CHANGED], description: 'A broadcast was changed' },
  'broadcast.deleted': { ...BROADCAST, description: 'A draft of a broadcast was deleted' },
  'broadcast.scheduled': { ...BROADCAST, description: 'A broadcast is to start at a time' },
  'broadcast.unscheduled': { ...BROADCAST, description: 'A scheduled broadcast is a draft again' },
  'broadcast.started': { ...BROADCAST, description: 'The recipients of a broadcast are being determined' },
  'broadcast.prepared': { ...BROADCAST, description: 'A broadcast is being sent' },
  'broadcast.paused': { ...BROADCAST, description: 'A broadcast was paused' },
  'broadcast.resumed': { ...BROADCAST, description: 'A paused broadcast goes on' },
  'broadcast.retried': { ...BROADCAST, description: 'A broadcast is sent again to recipients that failed' },
  'broadcast.completed': { ...BROADCAST, description: 'All messages of a broadcast were sent' },
  'broadcast.failed': { ...BROADCAST, description: 'A broadcast could not be sent' },
  'broadcast.canceled': { ...BROADCAST, description: 'A broadcast was canceled' },
  'broadcast.progress': { ...BROADCAST, description: 'Numbers of a broadcast changed' },
  'broadcast.replied': {
    ...BROADCAST,
    data: ['broadcastId', 'recipientId', 'contactId', 'messageId'],
    description: 'A recipient of a broadcast replied',
  },
  'template.created': { ...TEMPLATE, description: 'A template was created' },
  'template.updated': { ...TEMPLATE, data: [...TEMPLATE.data, CHANGED], description: 'A template was changed' },
  'template.deleted': { ...TEMPLATE, description: 'A template was deleted' },
  'template.submitted': { ...TEMPLATE, description: 'A template was submitted to the provider' },
  'template.status_changed': { ...TEMPLATE, description: 'The provider approved, rejected or paused a template' },
  'template.quality_changed': { ...TEMPLATE, description: 'The provider rated a template' },
  'template.category_changed': { ...TEMPLATE, description: 'The provider changed the category of a template' },
  'workflow.created': { ...WORKFLOW, description: 'A workflow was created' },
  'workflow.updated': {
    ...WORKFLOW,
    data: [...WORKFLOW.data, CHANGED],
    description: 'The draft of a workflow was changed',
  },
  'workflow.published': { ...WORKFLOW, description: 'A version of a workflow was published' },
  'workflow.paused': { ...WORKFLOW, description: 'A workflow was paused' },
  'workflow.archived': { ...WORKFLOW, description: 'A workflow was archived' },
  'workflow.unarchived': { ...WORKFLOW, description: 'An archived workflow is a draft again' },
  'workflow.deleted': { ...WORKFLOW, description: 'A workflow was deleted' },
  'channel.connected': { ...CHANNEL, description: 'A channel was connected, or works again' },
  'channel.degraded': { ...CHANNEL, description: 'A channel does not work as it should' },
  'channel.alerted': { ...CHANNEL, description: 'The provider reported a problem of a channel' },
  'channel.quality_changed': { ...CHANNEL, description: 'The provider rated a channel' },
  'channel.webhook_failed': {
    ...CHANNEL,
    data: ['channelId', 'webhookId'],
    description: 'A webhook call of a provider could not be processed',
  },
  'channel.deleted': { ...CHANNEL, description: 'A channel was deleted' },
  'group.member_added': { ...GROUP, description: 'A contact was added to a group' },
  'group.member_removed': { ...GROUP, description: 'A contact was removed from a group' },
  'dead_letter.created': { ...DEAD_LETTER, description: 'An item could not be processed' },
  'dead_letter.retried': { ...DEAD_LETTER, description: 'An item that could not be processed is tried again' },
  'dead_letter.discarded': { ...DEAD_LETTER, description: 'An item that could not be processed was discarded' },
  'media.created': { ...MEDIA, description: 'A file was uploaded' },
  'media.deleted': { ...MEDIA, description: 'A file was deleted' },
  'member.joined': { ...MEMBER, description: 'A person joined the workspace' },
  'member.updated': { ...MEMBER, data: [...MEMBER.data, CHANGED], description: 'A member has another role' },
  'member.removed': { ...MEMBER, description: 'A member left or was removed' },
  'invitation.created': { ...INVITATION, description: 'A person was invited' },
  'invitation.revoked': { ...INVITATION, description: 'An invitation was revoked' },
  'job.created': { ...JOB, description: 'A job was created' },
  'job.started': { ...JOB, description: 'A job is in progress' },
  'job.progress': { ...JOB, description: 'Numbers of a job changed, at most once a second' },
  'job.completed': { ...JOB, description: 'A job reached its end' },
  'job.failed': { ...JOB, description: 'A job failed' },
  'job.canceled': { ...JOB, description: 'A job was canceled' },
  'webhook_endpoint.created': { ...ENDPOINT, description: 'A webhook endpoint was created' },
  'webhook_endpoint.updated': {
    ...ENDPOINT,
    data: [...ENDPOINT.data, CHANGED],
    description: 'A webhook endpoint was changed',
  },
  'webhook_endpoint.disabled': { ...ENDPOINT, description: 'Events are not sent to a webhook endpoint any more' },
  'webhook_endpoint.deleted': { ...ENDPOINT, description: 'A webhook endpoint was deleted' },
  'webhook_endpoint.tested': { ...ENDPOINT, description: 'Sent to a webhook endpoint by its test, and nowhere else' },
  'workspace.updated': {
    ...WORKSPACE,
    data: [...WORKSPACE.data, CHANGED],
    description: 'Settings of the workspace were changed',
  },
  'workspace.retention_changed': { ...WORKSPACE, description: 'The times after which rows are deleted were changed' },
} as const satisfies Record<`${string}.${string}`, EventTypeInfo>

type Types = typeof EVENT_TYPES
export type EventType = keyof Types | `custom.${string}`
/** The types of one kind of object whose events have the same data. */
export type ConversationEventType = Exclude<Extract<keyof Types, `conversation.${string}`>, 'conversation.updated'>
export type MessageEventType = Exclude<Extract<keyof Types, `message.${string}`>, 'message.media_stored'>
export type BroadcastEventType = Exclude<
  Extract<keyof Types, `broadcast.${string}`>,
  'broadcast.replied' | 'broadcast.updated'
>
export type TemplateEventType = Exclude<Extract<keyof Types, `template.${string}`>, 'template.updated'>

type Field<T extends keyof Types> = Types[T]['data'][number]
type Data<T extends keyof Types> = { [F in Field<T> as F extends `${string}?` | `${string}[]` ? never : F]: string } & {
  [F in Field<T> as F extends `${infer Name}?` ? Name : never]?: string | null
} & { [F in Field<T> as F extends `${infer Name}[]` ? Name : never]: string[] }

/**
 * An event of a workspace, of which this is the registry. `data` contains no content: readers look the rows up. The payload
 * of a custom event is a row of its own, which is deleted with the contact.
 */
export type Event =
  | { [T in keyof Types]: { type: T; data: Data<T> } }[keyof Types]
  | { type: `custom.${string}`; data: { contactId: string; runId: string | null }; payload?: unknown }

/** Returns what is known about a type; undefined for those of another version of this program. */
export function findEventType(type: string): EventTypeInfo | undefined {
  if (isCustomEvent(type)) return CUSTOM_EVENT
  const types: Readonly<Record<string, EventTypeInfo>> = EVENT_TYPES
  return Object.hasOwn(types, type) ? types[type] : undefined
}
