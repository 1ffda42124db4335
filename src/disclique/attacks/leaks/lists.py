"""What anybody would try first: keys that are no secret, and names that are common. The most usual ones come first."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


KEYS = (
    *("secret", "test", "password", "salt", "key", "horse", "staple", "anonlink", "clkhash", "clk", "hash", "pprl"),
    *("bloom", "bloomfilter", "mainzelliste", "codi", "linkage", "recordlinkage", "record-linkage", "my_secret"),
    *("mysecret", "secretkey", "secret_key", "s3cr3t", "s3cr3t_k3y", "Secret", "SECRET", "passwort", "geheim"),
    *("Password", "password1", "admin", "changeme", "default", "example", "demo", "abc", "abc123", "qwerty"),
    *("0", "1", "123", "1234", "12345", "123456", "12345678", "000000", "none", "null", "key1", "secret1"),
)
PAIRS = (("horse", "staple"), ("key1", "key2"), ("secret1", "secret2"), ("a", "b"), ("1", "2"))

FIRST_NAMES = _words("""
james john robert michael william david richard joseph thomas charles mary patricia jennifer linda elizabeth barbara
susan jessica sarah karen daniel matthew anthony mark donald steven paul andrew joshua kenneth nancy lisa margaret
betty sandra ashley dorothy kimberly emily donna kevin brian george edward ronald timothy jason jeffrey ryan jacob
michelle carol amanda melissa deborah stephanie rebecca laura sharon cynthia peter hans klaus wolfgang jürgen dieter
manfred uwe günter horst bernd frank werner karl heinz gerhard helmut maria ursula monika petra elisabeth sabine
renate helga karin brigitte ingrid erika andrea gisela claudia susanne gabriele christa christine hildegard anna
stefan andreas christian martin markus jörg matthias alexander sebastian jan tobias lukas leon paul felix jonas emma
mia hannah sofia lena lea julia katharina nicole anja birgit heike angelika eva walter otto heinrich friedrich josef
johannes kurt rolf
""")
LAST_NAMES = _words("""
smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez lopez gonzalez wilson anderson
thomas taylor moore jackson martin lee perez thompson white harris sanchez clark ramirez lewis robinson walker young
allen king wright scott torres nguyen hill flores green adams nelson baker hall rivera campbell mitchell carter
roberts müller schmidt schneider fischer weber meyer wagner becker schulz hoffmann schäfer koch bauer richter klein
wolf schröder neumann schwarz zimmermann braun krüger hofmann hartmann lange schmitt werner schmitz krause meier
lehmann schmid schulze maier köhler herrmann könig walter mayer huber kaiser fuchs peters lang scholz möller weiß jung
hahn schubert vogel friedrich keller günther frank berger winkler roth beck lorenz baumann franke albrecht schuster
simon ludwig böhm winter kraus martin schumacher krämer vogt stein jäger otto sommer groß seidel heinrich brandt haas
schreiber graf schulte dietrich ziegler kuhn kühn pohl engel horn busch bergmann thomas voigt sauer arnold wolff
pfeiffer
""")
COMMON = tuple(dict.fromkeys([*FIRST_NAMES, *LAST_NAMES]))
DATES = tuple(f"19{year}" for year in range(40, 100, 5))  # what dates have in common
