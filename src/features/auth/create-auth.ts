import { Passwords } from '../../platform/security/passwords.ts'
import { AccessChecks } from '../../trpc/access-checks.ts'
import type { AuthDependencies } from '../../trpc/context.ts'
import type { SystemScope } from '../../scope.ts'
import { createIdentify } from './sessions/create-identify.ts'
import { checkAccess } from './check-access.ts'

/** Creates the long-lived objects of authentication. */
export function createAuth({
  system,
  ...dependencies
}: Omit<AuthDependencies, 'passwords' | 'accessChecks'> & { system: SystemScope }) {
  return {
    ...dependencies,
    passwords: new Passwords(),
    identify: createIdentify(system),
    accessChecks: new AccessChecks({
      now: () => system.now(),
      notifications: system.notifications,
      checkAccess: (callers) => checkAccess(system, callers),
    }),
  }
}
