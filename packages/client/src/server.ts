import type { BodyCode } from '../../../src/error-codes/index.ts'
import type { WorkspaceEvent } from '../../../src/features/live/follow-events.ts'
import type { AppRouter } from '../../../src/router.ts'
import type { CUSTOM_EVENT, EVENT_TYPES } from '../../../src/scope/event-types.ts'
import type { Condition, Step, Trigger, WorkflowDefinition } from '../../../src/workflow-definition.ts'

/*
 * All that the client takes from the server, types only. The build replaces this file by the same types in plain form, which
 * name no other file of the server and no package but the peers.
 */

export type { AppRouter, Condition, Step, Trigger, WorkflowDefinition }

/** The code of an error of a call. */
export type ErrorCode = BodyCode

/** An event of a workspace. */
export type EventOf = Extract<WorkspaceEvent, { type: 'event' }>['event']

/** The kinds of objects that webhooks send with an event, by its type. */
export type EventResources = {
  [Type in keyof typeof EVENT_TYPES]: (typeof EVENT_TYPES)[Type] extends { resource: infer Kind } ? Kind : null
} & { [Type in `custom.${string}`]: (typeof CUSTOM_EVENT)['resource'] }
