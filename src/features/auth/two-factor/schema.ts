import { z } from 'zod'
import { line } from '../../../trpc/schemas.ts'
import { password, SignedUp } from '../schema.ts'

export const OwnPassword = z.strictObject({ password })
export type OwnPassword = z.infer<typeof OwnPassword>

export const EnableTwoFactor = z.strictObject({
  password,
  method: z.literal('totp').optional().meta({ description: 'The only method' }),
  issuer: line(64).optional().meta({ description: 'The name that the app shows beside the address; default "Parley"' }),
})
export type EnableTwoFactor = z.infer<typeof EnableTwoFactor>

const backupCodes = z
  .array(z.string())
  .meta({ description: 'Ten recovery codes, each of which signs in once without the app. They are not shown again' })

const totpURI = z.string().meta({
  description: 'An `otpauth:` URI with the secret, which authenticator apps read as a QR code',
})

export const TwoFactorStarted = z
  .object({ method: z.literal('totp'), totpURI, backupCodes })
  .meta({ id: 'TwoFactorStarted' })
export type TwoFactorStarted = z.infer<typeof TwoFactorStarted>

export const TotpUri = z.object({ totpURI }).meta({ description: 'The secret of the authenticator app' })
export type TotpUri = z.infer<typeof TotpUri>

export const BackupCodes = z
  .object({ status: z.literal(true), backupCodes })
  .meta({ description: 'The new recovery codes; the earlier ones have ended' })
export type BackupCodes = z.infer<typeof BackupCodes>

export const VerifyCode = z.strictObject({
  code: z.string().min(1, 'must not be empty').max(64, 'must have at most 64 characters'),
  trustDevice: z.boolean().optional().meta({ description: 'Accepted and ignored: every sign-in needs a code' }),
})
export type VerifyCode = z.infer<typeof VerifyCode>

export const Verified = SignedUp
export type Verified = z.infer<typeof Verified>
