import { definitionHash } from '../../engine/compile/definition-hash.ts'
import type { Workflow as WorkflowRow } from '../../models/automation.ts'

type Draft = WorkflowRow['draft']

/** Returns the columns of a draft, with its hash, so that lists need not read it. */
export function toDraftColumns(draft: Draft, draftRevision: number) {
  return { draft, draftRevision, draftHash: definitionHash(draft), draftHashRevision: draftRevision }
}
