import type { ErrorEntry } from './entry.ts'

/** Errors of accounts, sessions, API keys, workspaces and their members. */
export const ACCESS_ERRORS = {
  account_locked: {
    status: 429,
    meaning: 'Too many passwords or codes for the account were wrong.',
    remedy: 'Try again after the seconds in `Retry-After`, or reset the password.',
  },
  already_member: {
    status: 409,
    meaning: 'The invited address is that of a member.',
    remedy: 'Change the role of the member instead.',
  },
  api_key_expired: {
    status: 409,
    meaning: 'The API key to change has expired.',
    remedy: 'Give it a later `expiresAt` first.',
  },
  api_key_revoked: {
    status: 409,
    meaning: 'The API key to change is revoked.',
    remedy: 'Create another key.',
  },
  forbidden: {
    status: 403,
    meaning:
      'The caller is no member of the workspace, or its role or API key does not allow the call. The body of the response has no code.',
    remedy:
      'Check `x-tenant-id`. Ask an admin for a higher role, or for a key with the scope that `WWW-Authenticate` names.',
  },
  invalid_code: {
    status: 401,
    meaning: 'The code of the second factor is wrong or was used.',
    remedy: 'Wait for the next code, or use a recovery code.',
  },
  invalid_email_or_password: {
    status: 401,
    meaning: 'No account has this email address and password.',
    remedy: 'Check both, or reset the password with `POST /api/auth/forget-password`.',
  },
  invalid_password: {
    status: 400,
    meaning: 'The given password is not the present one of the caller.',
    remedy: 'Send the present password.',
  },
  invalid_token: {
    status: 400,
    meaning: 'The token to reset a password is wrong, was used or has expired.',
    remedy: 'Request a new one with `POST /api/auth/forget-password`.',
  },
  invitation_accepted: {
    status: 409,
    meaning: 'The invitation to revoke was accepted.',
    remedy: 'Remove the member instead.',
  },
  invitation_invalid: {
    status: 422,
    meaning: 'The invitation was revoked, has expired or is for another email address.',
    remedy: 'Sign in with the address that was invited, or ask for another invitation.',
  },
  last_owner: {
    status: 409,
    meaning: 'The workspace would have no owner.',
    remedy: 'Make another member an owner first.',
  },
  name_mismatch: {
    status: 422,
    meaning: 'The name that confirms the deletion is not that of the workspace.',
    remedy: 'Send its exact name.',
  },
  password_too_common: {
    status: 422,
    meaning: 'The new password is easy to guess.',
    remedy: 'Choose a longer one that is neither common nor about the user.',
  },
  too_many_api_keys: {
    status: 409,
    meaning: 'The workspace has as many API keys that are not revoked as it may.',
    remedy: 'Revoke keys that are not used.',
  },
  too_many_invitations: {
    status: 409,
    meaning: 'The workspace has too many pending invitations, or sent too many on this day.',
    remedy: 'Revoke pending ones, or invite again later. The text of the error states the limit.',
  },
  too_many_members: {
    status: 409,
    meaning: 'The workspace has as many members as it may.',
    remedy: 'Ask an admin to remove one.',
  },
  too_many_workspaces: {
    status: 422,
    meaning: 'The caller owns as many workspaces as one may.',
    remedy: 'Use one of them, or leave one to another owner.',
  },
  two_factor_already_enabled: {
    status: 409,
    meaning: 'The account has a second factor already.',
    remedy: 'Disable it first.',
  },
  two_factor_not_enabled: {
    status: 409,
    meaning: 'The account has no second factor.',
    remedy: 'Start with `POST /api/auth/two-factor/enable`.',
  },
  two_factor_required: {
    status: 401,
    meaning: 'A code was sent without a sign-in that waits for one.',
    remedy: 'Sign in with the password first, and send the code within 10 minutes.',
  },
  two_factor_unreadable: {
    status: 409,
    meaning: 'The secret of the second factor cannot be decrypted, as `SECRET_KEY` of the server was changed.',
    remedy: 'Sign in with a recovery code, and disable and enable the second factor; or ask the operator.',
  },
  unauthorized: {
    status: 401,
    meaning:
      'The request has no valid session or API key, or a session without `x-tenant-id`. The body of the response has no code.',
    remedy: 'Sign in and send the session cookie with `x-tenant-id`, or send an API key as `Authorization: Bearer`.',
  },
  user_already_exists: {
    status: 409,
    meaning: 'An account has this email address.',
    remedy: 'Sign in, or reset its password.',
  },
} as const satisfies Record<string, ErrorEntry>
