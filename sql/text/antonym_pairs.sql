-- Which words say opposite things of the same topic? One row a pair; inflected forms share a stem (Snowball English),
-- so enable/disable stands for enables, enabled and enabling too. A word may stand in several pairs. To teach Loci a
-- pair, add a row. Pairs that are true of one thing at two times of day, or of two parts of it (morning/evening,
-- left/right), are left out. Constant.
create or replace function loci_internal.antonym_pairs() returns table (one text, other text)
language sql immutable parallel safe rows 130
as $$
    values ('enable', 'disable'), ('allow', 'deny'), ('allow', 'forbid'), ('allowed', 'forbidden'),
           ('allow', 'prohibit'), ('allow', 'block'),
        ('permit', 'forbid'), ('permitted', 'forbidden'), ('permit', 'prohibit'), ('grant', 'deny'),
        ('always', 'never'), ('on', 'off'), ('true', 'false'), ('yes', 'no'),
        ('married', 'divorced'), ('married', 'single'), ('married', 'unmarried'), ('married', 'widowed'),
        ('love', 'hate'), ('like', 'hate'),
        ('like', 'dislike'), ('love', 'dislike'), ('love', 'despise'), ('enjoy', 'hate'), ('enjoy', 'dislike'),
        ('adore', 'hate'), ('prefer', 'avoid'),
        ('trust', 'distrust'), ('trust', 'mistrust'), ('agree', 'disagree'), ('approve', 'reject'),
        ('approve', 'disapprove'), ('approved', 'denied'),
        ('start', 'stop'), ('begin', 'stop'), ('continue', 'stop'), ('join', 'leave'), ('joined', 'left'),
        ('join', 'quit'), ('alive', 'dead'),
        ('active', 'inactive'), ('activate', 'deactivate'), ('increase', 'decrease'), ('increase', 'reduce'),
        ('rise', 'fall'), ('raise', 'lower'),
        ('grow', 'shrink'), ('before', 'after'), ('open', 'closed'), ('opened', 'closed'), ('public', 'private'),
        ('accept', 'reject'), ('accept', 'refuse'),
        ('accept', 'decline'), ('hot', 'cold'), ('warm', 'cold'), ('present', 'absent'), ('success', 'failure'),
        ('succeed', 'fail'),
        ('passed', 'failed'), ('pass', 'fail'), ('passing', 'failing'), ('successful', 'unsuccessful'),
        ('online', 'offline'), ('employed', 'unemployed'), ('employed', 'retired'),
        ('vegetarian', 'carnivore'), ('vegan', 'carnivore'), ('locked', 'unlocked'), ('required', 'optional'),
        ('mandatory', 'optional'),
        ('compulsory', 'optional'), ('secure', 'insecure'), ('safe', 'unsafe'), ('safe', 'dangerous'),
        ('stable', 'unstable'),
        ('synchronous', 'asynchronous'), ('mutable', 'immutable'), ('valid', 'invalid'), ('visible', 'hidden'),
        ('visible', 'invisible'),
        ('available', 'unavailable'), ('supported', 'unsupported'), ('support', 'oppose'), ('paid', 'unpaid'),
        ('free', 'paid'), ('paid', 'free'), ('full', 'empty'),
        ('encrypted', 'unencrypted'), ('encrypted', 'plaintext'), ('verified', 'unverified'), ('known', 'unknown'),
        ('healthy', 'sick'), ('healthy', 'ill'),
        ('positive', 'negative'), ('benign', 'malignant'), ('pregnant', 'childless'), ('guilty', 'innocent'),
        ('legal', 'illegal'), ('won', 'lost'),
        ('win', 'lose'), ('buy', 'sell'), ('hired', 'fired'), ('introvert', 'extrovert'),
        ('introverted', 'extroverted'), ('rich', 'poor'), ('happy', 'unhappy'),
        ('happy', 'sad'), ('awake', 'asleep'), ('wet', 'dry'), ('clean', 'dirty'), ('cheap', 'expensive'),
        ('fast', 'slow'), ('easy', 'difficult'),
        ('easy', 'hard'), ('strong', 'weak'), ('tall', 'short'), ('old', 'young'), ('early', 'late'), ('high', 'low'),
        ('automatic', 'manual'),
        ('automated', 'manual'), ('static', 'dynamic'), ('temporary', 'permanent'), ('internal', 'external'),
        ('local', 'remote'), ('connected', 'disconnected'),
        ('installed', 'uninstalled'), ('included', 'excluded'), ('include', 'exclude'), ('resolved', 'unresolved'),
        ('fixed', 'broken'), ('working', 'broken'),
        ('solved', 'unsolved'), ('read-only', 'writable'), ('deprecated', 'supported'), ('complete', 'incomplete'),
        ('finished', 'unfinished'),
        ('certified', 'uncertified'), ('lactose-tolerant', 'lactose-intolerant'), ('tolerant', 'intolerant'),
        ('up', 'down')
$$;
comment on function loci_internal.antonym_pairs() is
    'Pairs of words that say opposite things of the same topic.';

-- In which pairs of opposites does a stem stand, and on which side? Stem → array such as ["12+", "40-"]: what opposes
-- 12+ is 12-. Constant: folded once a plan (about 1 ms).
create or replace function loci_internal.antonym_sides() returns jsonb
language sql immutable parallel safe
as $$
    with pair as (
        select row_number() over (order by a.one, a.other) as number, a.one, a.other
        from loci_internal.antonym_pairs() a
    ), side as (
        select distinct loci_internal.word_stem(s.word) as stem, s.side
        from pair p cross join lateral (values (p.one, p.number || '+'), (p.other, p.number || '-')) s(word, side)
    )
    select jsonb_object_agg(g.stem, g.sides)
    from (select s.stem, jsonb_agg(s.side order by s.side) as sides from side s group by s.stem) g
$$;
comment on function loci_internal.antonym_sides() is
    'Stem → pairs of opposites and sides in them.';
