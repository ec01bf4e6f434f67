import { Settings } from '../language/definition/settings.ts'
import type { CompiledDefinition } from '../model/compiled.ts'
import type { StoredRun } from '../model/stored-run.ts'
import type { PublishedWorkflow } from '../model/subject.ts'

const EMPTY: CompiledDefinition = {
  version: 1,
  triggers: [],
  settings: Settings.parse({}),
  variables: {},
  steps: [],
  index: {},
}

/** Stands for the workflow of a run whose version cannot be read. */
export function toEmptyWorkflow({ workflowId, workflowVersion: version }: StoredRun): PublishedWorkflow {
  return { workflowId, name: '', version, compiled: EMPTY }
}
