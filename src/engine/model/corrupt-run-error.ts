/** A run that cannot be decided, because of an internal error or damaged stored state. */
export class CorruptRunError extends Error {
  override name = 'CorruptRunError'
  readonly runId: string

  constructor(runId: string, cause: unknown) {
    super(`run ${runId} could not be decided`, { cause })
    this.runId = runId
  }
}
