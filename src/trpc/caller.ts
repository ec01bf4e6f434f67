import type { Role } from '../scope/dependencies.ts'

export type Session = {
  id: string
  userId: string
  createdAt: Date
  expiresAt: Date
  ipAddress: string | null
  userAgent: string | null
}

export type User = {
  id: string
  email: string
  name: string
  image: string | null
  emailVerified: boolean
  createdAt: Date
  updatedAt: Date
}

/** The caller and their role in the workspace that the request names. Resolved once, before any procedure runs. */
export type Caller = {
  session: Session
  user: User
  /** `missing`: no workspace was named. `refused`: the named one is malformed, unknown or without this member. */
  workspace: { id: string; role: Role } | 'missing' | 'refused'
}
