import { Passwords } from '../../platform/security/passwords.ts'
import type { AuthDependencies, Caller } from '../../trpc/context.ts'
import type { SystemScope } from '../../scope.ts'
import { createIdentify } from './sessions/create-identify.ts'
import { checkAccess } from './check-access.ts'

/** What signing in keeps for the life of the process, and who answers when somebody shows a token. */
export function createAuth({
  system,
  ...parts
}: Omit<AuthDependencies, 'passwords' | 'refusalOf'> & { system: SystemScope }) {
  return {
    ...parts,
    passwords: new Passwords(),
    identify: createIdentify(system, parts.revocations),
    refusalOf: (caller: Caller) => checkAccess(system, caller),
  }
}
