import type { Location } from '../../engine/language/definition/problems.ts'
import { listSteps, listTriggers, findValues } from '../workflows/stored-definition.ts'

export type ReferenceKind = 'group' | 'channel' | 'workflow' | 'member' | 'tool' | 'credential' | 'broadcast'

/** A name or ID of an object of the workspace. */
export type Reference = { kind: ReferenceKind; location: Location; path: string; name: string }

/** Fields of definitions that refer to the workspace, by the type of the trigger or step. */
const TRIGGER_FIELDS: [type: string, at: string, kind: ReferenceKind][] = [
  ['message_received', 'channelId', 'channel'],
  ['schedule', 'groupId', 'group'],
  ['group_joined', 'groupId', 'group'],
  ['group_left', 'groupId', 'group'],
  ['broadcast_replied', 'broadcastId', 'broadcast'],
]
const STEP_FIELDS: [type: string, at: string, kind: ReferenceKind][] = [
  ['add_to_group', 'groupId', 'group'],
  ['remove_from_group', 'groupId', 'group'],
  ['run_workflow', 'workflowId', 'workflow'],
  ['assign', 'to.userId', 'member'],
  ['handoff', 'assign.userId', 'member'],
  ['tool', 'tool', 'tool'],
  ['ai', 'tools.*', 'tool'],
  ['http', 'credentialId', 'credential'],
]

/** More than a valid definition can have, and fewer than a statement can have parameters. */
const REFERENCES_MAX = 20_000

export function listReferences(definition: unknown): Reference[] {
  const parts = [
    ...listTriggers(definition).map((part) => ({ part, table: TRIGGER_FIELDS })),
    ...listSteps(definition).map((part) => ({ part, table: STEP_FIELDS })),
  ]
  const references = parts.flatMap(({ part, table }) =>
    table
      .filter(([type]) => type === part.fields['type'])
      .flatMap(([, at, kind]) => findValues(part, at).map((match) => ({ ...match, kind, location: part.location })))
      // The value of a placeholder is only known when the step is executed.
      .flatMap(({ value, ...reference }) =>
        typeof value === 'string' && !value.includes('{{')
          ? [{ ...reference, name: normalizeName(reference.kind, value) }]
          : [],
      ),
  )
  return references.slice(0, REFERENCES_MAX)
}

/** IDs are lower case in the database. */
function normalizeName(kind: ReferenceKind, value: string): string {
  return kind === 'tool' ? value : value.toLowerCase()
}
