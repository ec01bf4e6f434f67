import { readNow } from '../kit/time.tsx'
import type { RouterInputs, RouterOutputs } from '@parley/client'
import { useParleyClient } from '@parley/client/react'
import { useEffect, useState } from 'react'
import { toTitle } from '../graph/describe-step.ts'
import { toObjects, toText } from '../kit/narrow.ts'
import type { Definition } from './use-draft.ts'

type Input = RouterInputs['workflows']['simulate']
export type Entry = NonNullable<Input['dialogue']>[number]
export type Trigger = NonNullable<Input['trigger']>
export type Simulation = RouterOutputs['workflows']['simulate']

/** The simulated dialogue: `start` is the index of the trigger of the definition that starts the run, or `message`. */
export type Dialogue = { entries: readonly Entry[]; start: string; at: string }

export const MESSAGE = 'message'

export function newDialogue(): Dialogue {
  return { entries: [], start: MESSAGE, at: new Date(readNow()).toISOString() }
}

/** Lists what can start the workflow: the first message of the dialogue, or a trigger that needs none. */
export function listStarts(definition: Definition): [value: string, title: string][] {
  const triggers = toObjects(definition.triggers).flatMap((trigger, index): [string, string][] => {
    const type = toText(trigger['type']) ?? ''
    return toTrigger(definition, String(index)) ? [[String(index), toTitle(type)]] : []
  })
  return [[MESSAGE, 'The first message'], ...triggers]
}

/** Converts a trigger of the definition to one of the simulation; undefined for triggers by messages. */
export function toTrigger(definition: Definition, start: string): Trigger | undefined {
  const trigger = start === MESSAGE ? undefined : toObjects(definition.triggers)[Number(start)]
  const type = toText(trigger?.['type'])
  if (!trigger || type === undefined) return undefined
  switch (type) {
    case 'api':
    case 'manual':
    case 'webhook':
    case 'schedule':
    case 'contact_created':
    case 'conversation_closed':
      return { type }
    case 'contact_updated':
      return { type, fields: Array.isArray(trigger['fields']) ? trigger['fields'].map(String) : [] }
    case 'tag_added':
    case 'tag_removed':
      return { type, tag: toText(trigger['tag']) ?? 'tag' }
    case 'group_joined':
    case 'group_left':
      return { type, groupId: String(trigger['groupId']) }
    case 'broadcast_replied':
      return { type }
    case 'event':
      return { type, event: toText(trigger['event']) ?? 'event', data: {} }
    default:
      return undefined
  }
}

type State = { result: Simulation | undefined; error: unknown; isBusy: boolean }

const IDLE: State = { result: undefined, error: null, isBusy: false }

/** Simulates a dialogue as a whole whenever it changes. The answer for an earlier one is ignored, its request canceled. */
export function useSimulation(workflowId: string, { entries, start, at }: Dialogue, definition: Definition): State {
  const client = useParleyClient()
  const [state, setState] = useState<State>(IDLE)
  useEffect(() => {
    const trigger = toTrigger(definition, start)
    if (entries.length === 0 && !trigger) {
      setState(IDLE)
      return
    }
    const controller = new AbortController()
    const { signal } = controller
    setState(({ result }) => ({ result, error: null, isBusy: true }))
    client.workflows.simulate
      .mutate({ workflowId, definition, dialogue: [...entries], at, ...(trigger ? { trigger } : {}) }, { signal })
      .then((result): State => ({ result, error: null, isBusy: false }))
      .catch((error: unknown): State => ({ result: undefined, error, isBusy: false }))
      .then((answer) => signal.aborted || setState(answer))
    return () => controller.abort()
  }, [client, workflowId, definition, entries, start, at])
  return state
}
