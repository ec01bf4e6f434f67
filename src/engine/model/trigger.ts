import type { z } from 'zod'
import type { Condition } from '../language/conditions.ts'
import type { Root } from '../language/values.ts'
import type { JsonObject, MessageFacts } from './run.ts'

/**
 * An event that may start runs. The trigger types of the same `type` read its other fields. One with a `consentKeyword`
 * starts no run and reaches none.
 */
export type TriggerEvent = { type: string; message?: MessageFacts | null; consentKeyword?: string } & JsonObject

/** A trigger of a compiled definition: the fields that the schema of its type produced. */
export type CompiledTrigger = { type: string; if?: Condition | undefined } & JsonObject

/** A named event that waiting runs receive. */
export type Signal = { event: string; data: unknown }

interface TriggerBehaviour<Trigger, Event> {
  /** Set if a definition may have only one trigger of this type: the problem of a second one. */
  readonly duplicate?: { code: string; message: string } | null
  /** Roots that placeholders of the trigger's texts may read. */
  readonly roots?: readonly Root[]
  /** Texts with placeholders, besides the condition. */
  texts?(trigger: Trigger): { path: string; text: string }[]
  /** Tests an event of the trigger's own type; without it every such event matches. */
  matches?(trigger: Trigger, event: Event): boolean
  /** A trigger with a priority above 0 starts its workflow even while another run waits for the reply. */
  priority?(trigger: Trigger): number
  /** Fields of the event that the run's trigger keeps, or those with which it is started directly. */
  readonly recorded?: readonly (keyof Event & string)[]
  /** Name of the event within its type, for explanations. */
  eventName?(event: Event): string | null
  /** The signal that waiting runs receive when the event happens. */
  toSignal?(event: Event): Signal | null
}

export interface TriggerType extends Required<TriggerBehaviour<CompiledTrigger, TriggerEvent>> {
  readonly type: string
  readonly schema: z.ZodObject
}

/** A trigger type that also narrows compiled triggers to its own fields. */
export type DefinedTrigger<Trigger> = TriggerType & {
  is(trigger: CompiledTrigger): trigger is CompiledTrigger & Trigger
}

export type TriggerRegistry = ReadonlyMap<string, TriggerType>

export function defineTrigger<Schema extends z.ZodObject, Event extends TriggerEvent = TriggerEvent>(
  trigger: { type: string; schema: Schema } & TriggerBehaviour<CompiledTrigger & z.output<Schema>, Event>,
): DefinedTrigger<z.output<Schema>> {
  const defaults = {
    duplicate: null,
    roots: [],
    texts: () => [],
    matches: () => true,
    priority: () => 0,
    recorded: [],
    eventName: () => null,
    toSignal: () => null,
  }
  return {
    ...defaults,
    ...trigger,
    is: (other: CompiledTrigger): other is CompiledTrigger & z.output<Schema> => other.type === trigger.type,
  }
}

export function triggerRegistry(types: readonly TriggerType[]): TriggerRegistry {
  return new Map(types.map((trigger) => [trigger.type, trigger]))
}
