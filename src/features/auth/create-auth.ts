import { Passwords } from '../../platform/security/passwords.ts'
import type { AuthDependencies, Caller } from '../../trpc/context.ts'
import type { SystemScope } from '../../scope.ts'
import { createIdentify } from './sessions/create-identify.ts'
import { checkAccess } from './check-access.ts'

/** Creates the long-lived objects of authentication. */
export function createAuth({
  system,
  ...dependencies
}: Omit<AuthDependencies, 'passwords' | 'checkAccess'> & { system: SystemScope }) {
  return {
    ...dependencies,
    passwords: new Passwords(),
    identify: createIdentify(system, dependencies.revocations),
    checkAccess: (caller: Caller) => checkAccess(system, caller),
  }
}
