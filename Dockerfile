# docker build -t vmcp-admission:0.1.0 .
# Name both images by digest (--build-arg) where a build must be repeatable to the byte.
ARG BUILD_IMAGE=node:24-trixie-slim
ARG RUN_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot

FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc tsconfig.json ./
# Nothing of the bundle is native: one build serves every architecture.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY LICENSE ./
COPY src src
COPY releases releases
COPY examples examples
# Without a package.json beside dist, Node would have to guess that these are ES modules.
RUN npm run bundle -- /app/dist && cp package.json LICENSE /app/

FROM ${RUN_IMAGE}
# The heap is a share of the container's memory limit; the rest is for young objects, buffers and code. glibc otherwise
# keeps what compiler threads have freed, 10 to 15 MB (contributing/performance.md).
ENV NODE_ENV=production \
    NODE_OPTIONS="--max-old-space-size-percentage=50 --max-semi-space-size=16" \
    MALLOC_ARENA_MAX=1 \
    MALLOC_TRIM_THRESHOLD_=131072
WORKDIR /app
COPY --from=build /app /app
USER 65532:65532
# The chart's arguments follow; the CLI is /nodejs/bin/node /app/dist/cli/main.js.
ENTRYPOINT ["/nodejs/bin/node", "/app/dist/server/main.js"]
# Last, because they change with every commit.
ARG VERSION
ARG REVISION
ARG CREATED
ARG SOURCE
LABEL org.opencontainers.image.title="vmcp-admission" \
      org.opencontainers.image.description="Admission webhook for the authentication resources of vMCP" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}"
