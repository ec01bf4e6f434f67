import { TenantModel } from '../tenant-model.ts'

export class Media extends TenantModel {
  static override tableName = 'media'

  declare id: string
  declare sha256: string
  declare mimeType: string
  declare bytes: number
  declare filename: string | null
  /** For a WebP file; null if that is unknown. */
  declare isAnimated: boolean | null
  declare createdAt: Date
}
