/** A run that cannot be decided: by a fault of ours, or because what is stored of it is damaged. */
export class CorruptRunError extends Error {
  override name = 'RunFault'
  readonly runId: string

  constructor(runId: string, cause: unknown) {
    super(`run ${runId} could not be decided`, { cause })
    this.runId = runId
  }
}
