import 'reflect-metadata';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module, type ExecutionContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  Args,
  Field,
  GqlExecutionContext,
  GraphQLModule,
  Int,
  ObjectType,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import {
  Kind,
  valueFromASTUntyped,
  type FieldNode,
  type GraphQLResolveInfo,
  type SelectionSetNode,
} from 'graphql';
import { RateLimit, RateLimitModule } from 'nestjs-redis-rate-limit';

/** A field costs a point, and a list costs its fields once for each item that the client asks for. */
function pointsOf(field: FieldNode, info: GraphQLResolveInfo): number {
  const first = field.arguments?.find(({ name }) => name.value === 'first');
  const items = first && Number(valueFromASTUntyped(first.value, info.variableValues));
  return 1 + Math.max(1, items || 1) * pointsIn(field.selectionSet, info);
}

function pointsIn(set: SelectionSetNode | undefined, info: GraphQLResolveInfo): number {
  let points = 0;
  for (const each of set?.selections ?? []) {
    if (each.kind === Kind.FIELD) points += pointsOf(each, info);
    else if (each.kind === Kind.INLINE_FRAGMENT) points += pointsIn(each.selectionSet, info);
    else points += pointsIn(info.fragments[each.name.value]?.selectionSet, info);
  }
  return points;
}

function complexity(context: ExecutionContext): number {
  const info = GqlExecutionContext.create(context).getInfo<GraphQLResolveInfo>();
  return info.fieldNodes.reduce((sum, field) => sum + pointsOf(field, info), 0);
}

@ObjectType()
class Book {
  @Field() title!: string;
}

@ObjectType()
class Author {
  @Field() name!: string;
  @Field(() => [Book]) books!: Book[];
}

@Resolver(() => Author)
class AuthorResolver {
  @RateLimit('points')
  @Query(() => [Author])
  authors(@Args('first', { type: () => Int, defaultValue: 1 }) first: number): { name: string }[] {
    return Array.from({ length: first }, (_, nth) => ({ name: `Author ${nth}` }));
  }

  @ResolveField(() => [Book])
  books(@Args('first', { type: () => Int, defaultValue: 1 }) first: number): Book[] {
    return Array.from({ length: first }, (_, nth) => ({ title: `Book ${nth}` }));
  }
}

@Module({
  imports: [
    GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, autoSchemaFile: true }),
    RateLimitModule.forRoot({
      redis: process.env.REDIS_URL,
      onDemand: {
        points: {
          window: '1m',
          limit: 100,
          algorithm: 'gcra',
          unit: 'points',
          cost: complexity,
        },
      },
    }),
  ],
  providers: [AuthorResolver],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
