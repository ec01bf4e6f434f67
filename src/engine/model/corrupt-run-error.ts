type CorruptRun = { id: string; parent: { runId: string } | null }

/** A run that cannot be decided, because of an internal error or damaged stored state. */
export class CorruptRunError extends Error {
  override name = 'CorruptRunError'
  readonly workflowId: string
  /** The run, which may not be stored yet, and the run that awaits it. */
  readonly runIds: string[]

  constructor({ id, parent }: CorruptRun, workflowId: string, cause: unknown) {
    super(`run ${id} of workflow ${workflowId} could not be decided`, { cause })
    this.workflowId = workflowId
    this.runIds = parent ? [id, parent.runId] : [id]
  }
}
