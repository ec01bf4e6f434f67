import { TenantModel } from '../tenant-model.ts'

/** The place of a secret in a request. */
export type CredentialPlacement =
  | { type: 'bearer' }
  | { type: 'basic'; username: string }
  | { type: 'header'; name: string }
  | { type: 'query'; name: string }

export class Credential extends TenantModel {
  static override tableName = 'http_credentials'
  static override jsonAttributes = ['placement']

  declare id: string
  declare name: string
  declare placement: CredentialPlacement
  /** Hosts that may receive the secret, with their port unless it is that of the scheme. */
  declare allowedHosts: string[]
  /** Encrypted, never returned. */
  declare sealedSecret: Buffer
  /** Null for a secret so short that four characters would reveal much of it. */
  declare lastFour: string | null
  /** Updated at most once an hour. */
  declare lastUsedAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}
