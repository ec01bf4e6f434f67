import { CreatedModel, TenantModel } from './tenant-model.ts'

/** HTTP request of a custom tool. */
export type ToolConfig = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  headers?: Record<string, string> | undefined
  /** The credential that calls carry. */
  credentialId?: string | undefined
}

/** The place of a secret in a request. */
export type CredentialPlacement =
  | { type: 'bearer' }
  | { type: 'basic'; username: string }
  | { type: 'header'; name: string }
  | { type: 'query'; name: string }

export class Workflow extends CreatedModel {
  static override tableName = 'workflows'
  static override jsonAttributes = ['draft']

  declare id: string
  declare key: string | null
  declare name: string
  declare description: string | null
  declare status: 'draft' | 'published' | 'paused' | 'archived'
  declare draft: Record<string, unknown>
  declare draftRevision: number
  /** Hash of the draft of `draftHashRevision`; null or of another revision if a program that stores none wrote the draft. */
  declare draftHash: string | null
  declare draftHashRevision: number | null
  declare version: number | null
  declare publishedAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}

export class WorkflowVersion extends TenantModel {
  static override tableName = 'workflow_versions'
  static override idColumn = ['tenant_id', 'workflow_id', 'version']
  static override jsonAttributes = ['definition', 'compiled']

  declare workflowId: string
  declare version: number
  declare hash: string
  declare definition: Record<string, unknown>
  declare compiled: Record<string, unknown>
  declare note: string | null
  declare publishedBy: string | null
  declare publishedAt: Date
}

export class WorkflowWebhook extends TenantModel {
  static override tableName = 'workflow_webhooks'

  declare id: string
  declare workflowId: string
  /** Encrypted secret. Null until one is created: until then every call is rejected. */
  declare secret: Buffer | null
  declare rotatedAt: Date | null
  declare createdAt: Date
}

export class WorkflowTest extends CreatedModel {
  static override tableName = 'workflow_tests'
  static override jsonAttributes = ['trigger', 'input', 'dialogue', 'stepOutputs', 'contact', 'expectation']

  declare id: string
  declare workflowId: string
  declare name: string
  declare trigger: Record<string, unknown> | null
  declare input: unknown
  declare dialogue: unknown[]
  declare stepOutputs: Record<string, unknown>
  declare contact: Record<string, unknown> | null
  declare startsAt: Date
  declare opensConversation: boolean
  declare expectation: Record<string, unknown>
  declare sourceRunId: string | null
  declare createdAt: Date
  declare updatedAt: Date
}

export class Run extends TenantModel {
  static override tableName = 'runs'
  static override outlivesContact = true
  static override jsonAttributes = ['trigger', 'state', 'input', 'output', 'error', 'startedBy']

  declare id: string
  declare workflowId: string
  declare workflowVersion: number
  declare isDraft: boolean | null
  declare contactId: string | null
  declare conversationId: string | null
  declare depth: number
  declare parentRunId: string | null
  declare mailboxRunId: string | null
  declare status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'canceled' | 'expired'
  declare mode: 'live' | 'dry_run'
  declare trigger: { type: string; messageId: string | null } & Record<string, unknown>
  declare triggerEventId: string
  declare state: Record<string, unknown>
  declare input: unknown
  declare output: unknown
  declare error: { code: string; message: string; stepId: string | null } | null
  declare epoch: number
  declare stepsCount: number
  declare messagesSent: number
  declare waitingFor: 'reply' | 'timer' | 'event' | 'result' | null
  declare waitingUntil: Date | null
  declare waitingStepId: string | null
  declare replayOf: string | null
  declare rootRunId: string
  declare replayFromStepId: string | null
  declare startedBy: { type: string; id: string | null }
  declare queuedAt: Date
  declare startedAt: Date | null
  declare finishedAt: Date | null
  declare createdAt: Date
}

export class RunStep extends TenantModel {
  static override tableName = 'run_steps'
  static override idColumn = ['tenant_id', 'run_id', 'index']
  static override jsonAttributes = ['input', 'output', 'error']

  declare id: string
  declare runId: string
  declare index: number
  declare stepId: string
  declare name: string | null
  declare type: string
  declare path: string
  declare iteration: number
  declare attempt: number
  declare status: 'running' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'canceled'
  declare input: unknown
  declare output: unknown
  declare error: { code: string; message: string } | null
  declare branch: string | null
  declare reusedFromId: string | null
  declare simulated: boolean
  declare messageId: string | null
  declare waitingUntil: Date | null
  declare startedAt: Date
  declare finishedAt: Date | null
}

export class DeadLetter extends TenantModel {
  static override tableName = 'dead_letters'
  static override jsonAttributes = ['payload', 'error']

  declare id: string
  declare mailboxKind: 'conversation' | 'contact' | 'run'
  declare mailboxId: string
  declare kind: string
  declare payload: unknown
  declare contactId: string | null
  declare conversationId: string | null
  declare runId: string | null
  declare workflowId: string | null
  declare error: { name: string; code: string; message: string }
  declare attempts: number
  declare createdAt: Date
  declare failedAt: Date
}

export class Tool extends TenantModel {
  static override tableName = 'tools'
  static override jsonAttributes = ['inputSchema', 'outputSchema', 'config']

  declare id: string
  declare name: string
  declare title: string
  declare description: string
  declare inputSchema: Record<string, unknown>
  declare outputSchema: Record<string, unknown>
  declare effect: 'read' | 'write' | 'external_send'
  declare config: ToolConfig
  /** Encrypted values of the headers, never returned. */
  declare sealedHeaders: Buffer | null
  declare enabled: boolean
  declare createdAt: Date
  declare updatedAt: Date
}

export class Credential extends TenantModel {
  static override tableName = 'http_credentials'
  static override jsonAttributes = ['placement']

  declare id: string
  declare name: string
  declare placement: CredentialPlacement
  /** Hosts that may receive the secret, with their port unless it is that of the scheme. */
  declare allowedHosts: string[]
  /** Encrypted, never returned. */
  declare sealedSecret: Buffer
  /** Null for a secret so short that four characters would reveal much of it. */
  declare lastFour: string | null
  /** Updated at most once an hour. */
  declare lastUsedAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}

export class ApiKey extends TenantModel {
  static override tableName = 'api_keys'
  static override jsonAttributes = ['createdBy']

  declare id: string
  declare name: string
  declare lastFour: string
  declare grants: string[]
  declare ipRanges: string[] | null
  declare channelIds: string[] | null
  declare limitPerMinute: number
  declare createdBy: { type: string; id: string | null; name: string | null }
  declare knownTo: string[]
  declare expiresAt: Date | null
  declare previousExpiresAt: Date | null
  declare lastUsedAt: Date | null
  declare revokedAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}

export class AiProvider extends TenantModel {
  static override tableName = 'ai_providers'

  declare id: string
  declare baseUrl: string
  declare model: string
  /** Encrypted API key, never returned. Null for a provider that needs none. */
  declare sealedKey: Buffer | null
  declare createdAt: Date
  declare updatedAt: Date
}

/** A receiver of events. */
export class WebhookEndpoint extends TenantModel {
  static override tableName = 'webhook_endpoints'
  static override jsonAttributes = ['createdBy']

  declare id: string
  declare url: string
  declare description: string | null
  /** Types and patterns; null for all. */
  declare types: string[] | null
  declare payload: 'full' | 'thin'
  /** Encrypted, as the previous one. */
  declare secret: Buffer
  declare previousSecret: Buffer | null
  declare previousExpiresAt: Date | null
  declare status: 'enabled' | 'disabled'
  declare disabledReason: 'requested' | 'failures' | 'gone' | null
  /** Events up to this position have been sent once, or are of other types. */
  declare position: number
  declare dueAt: Date | null
  declare pausedUntil: Date | null
  declare failingSince: Date | null
  declare failedAt: Date | null
  declare gapAt: Date | null
  declare leasedUntil: Date | null
  declare claimCount: number
  declare emailDueAt: Date | null
  declare emailAttempts: number
  /** Null unless it is deleted for everybody, and a worker deletes its deliveries. */
  declare deletedAt: Date | null
  declare createdBy: { type: string; id: string | null; name: string | null }
  declare createdAt: Date
  declare updatedAt: Date
}

/** One attempt to send an event to an endpoint. */
export type DeliveryAttempt = { at: string; statusCode: number | null; error: string | null; durationMs: number }

/** Data of an event: IDs, and in `changed` the names of the fields that a change was about. */
export type EventData = { changed?: string[] } & Record<string, string | null>

/** An event that was sent to an endpoint at least once, with its latest attempts. */
export class WebhookDelivery extends TenantModel {
  static override tableName = 'webhook_deliveries'
  static override jsonAttributes = ['data', 'attempts']

  declare id: string
  declare endpointId: string
  declare eventId: string
  declare type: string
  declare data: EventData
  declare position: number
  declare eventAt: Date
  declare status: 'delivered' | 'waiting' | 'failed'
  declare attemptCount: number
  declare attempts: DeliveryAttempt[]
  declare dueAt: Date | null
  declare deliveredAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}
