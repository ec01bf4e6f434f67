import { TenantModel } from './tenant-model.ts'

export type JobStatus = 'queued' | 'running' | 'completed' | 'failed' | 'canceled'
export type JobItemStatus = 'created' | 'updated' | 'unchanged' | 'failed'

/** Creator of a job. A key has the scopes and channels that it had then. */
export type JobActor =
  | { type: 'user'; id: string; name: string }
  | { type: 'key'; id: string; name: string; scopes: string[]; channelIds: string[] | null }
  | { type: 'system'; id: null; name: null }

export class Job extends TenantModel {
  static override tableName = 'jobs'
  static override jsonAttributes = ['input', 'cursor', 'error', 'actor']

  declare id: string
  declare type: string
  declare status: JobStatus
  /** Input of the work, in the form of the type. */
  declare input: Record<string, unknown>
  declare digest: Buffer | null
  /** Position of the next portion; null at the beginning. */
  declare cursor: Record<string, unknown> | null
  /** The number of portions that are stored. */
  declare portions: number
  /** True while the file store has a file under the ID of the job. */
  declare hasFile: boolean
  declare total: number
  declare createdCount: number
  declare updatedCount: number
  declare unchangedCount: number
  declare failedCount: number
  /** Unexpected errors since the last portion that was stored. */
  declare attempts: number
  declare error: { code: string; message: string } | null
  declare actor: JobActor
  /** Time from which a worker may take it. Null once it has ended. */
  declare workAt: Date | null
  declare progressAt: Date | null
  declare startedAt: Date | null
  declare finishedAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}
