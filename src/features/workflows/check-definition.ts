import { type Compilation, compileDefinition } from '../../engine/compile-definition.ts'
import type { CompiledDefinition } from '../../engine/compiled.ts'
import type { Problem } from '../../engine/definition/problem.ts'
import { stepTypes } from './steps/index.ts'

/** A definition in the form that runs, or everything that keeps it from running. */
export function checkDefinition(definition: unknown): Compilation {
  const { compiled, errors, warnings } = compileDefinition(definition, stepTypes)
  const unsupported = compiled ? findUnsupported(compiled) : []
  return { compiled: unsupported.length > 0 ? null : compiled, errors: [...errors, ...unsupported], warnings }
}

/** What the language knows and nothing acts on: refused with a sentence, never ignored in silence. */
function findUnsupported({ triggers, settings }: CompiledDefinition): Problem[] {
  const refuse = (path: string, message: string): Problem => ({ stepId: null, code: 'not_supported', message, path })
  return [
    ...triggers.flatMap(({ type }, index) =>
      ['tag_added', 'api', 'manual', 'schedule', 'webhook', 'event'].includes(type)
        ? [
            refuse(
              `triggers.${index}.type`,
              `Trigger ${index + 1}: nothing raises "${type}" yet. Use message_received, conversation_opened or contact_created`,
            ),
          ]
        : [],
    ),
    ...(settings.debounceMs > 0
      ? [refuse('settings.debounce', 'The workflow: settings.debounce is not supported yet. Leave it out')]
      : []),
    ...(settings.reentry === 'queue'
      ? [
          refuse(
            'settings.reentry',
            'The workflow: settings.reentry "queue" is not supported yet. Use ignore, restart or parallel',
          ),
        ]
      : []),
  ]
}
