# Debian, as the embedded PostgreSQL needs glibc.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
RUN npm ci
COPY knexfile.js tsconfig.json tsconfig.build.json ./
COPY docs docs
COPY migrations migrations
COPY packages/client/src packages/client/src
COPY scripts scripts
COPY seeds seeds
COPY src src
RUN npm run build && npm prune --omit=dev

FROM node:22-bookworm-slim
WORKDIR /app
COPY --from=build /app ./
RUN mkdir /data && chown node:node /data
USER node
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
# A process that only works in the background answers on METRICS_PORT, if it is set.
HEALTHCHECK --interval=10s --start-period=60s CMD ["node", "-e", "const { ROLES, PORT = 3000, METRICS_PORT } = process.env; const path = ROLES !== 'worker' ? `${PORT}/healthz` : METRICS_PORT && `${METRICS_PORT}/readyz`; if (path) fetch(`http://127.0.0.1:${path}`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=64", "dist/main.js"]
